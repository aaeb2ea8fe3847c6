"use strict";
// The same cars by VIN and date, in JavaScript: the key is made by ./synthetic-keys.js, the client is unmodified.
//
//   npm install @azure/cosmos
//   armillary run -- node examples/javascript/vin-and-date.js
const { CosmosClient } = require("@azure/cosmos");
const { readStrategy } = require("./synthetic-keys.js");

const byVin = readStrategy({
  format: 1,
  levels: [{ path: "/partitionKey", key: { strategy: "hashSuffix", base: "/date", by: "/vin", count: 400 } }],
});

async function main() {
  const client = new CosmosClient({ endpoint: process.env.ARMILLARY_HTTP_ENDPOINT, key: process.env.ARMILLARY_KEY });
  const { database } = await client.databases.create({ id: `example-${Date.now()}-${process.pid}` });
  const { container } = await database.containers.create({
    id: "cars",
    partitionKey: { paths: ["/partitionKey"], version: 2 },
  });

  const vin = "1HGCM82633A004352";
  const made = await container.items.create(byVin.apply({ id: vin, vin, date: "2018-08-09" }));
  console.log(`${vin} is under ${made.resource.partitionKey}: ${made.requestCharge.toFixed(2)} RU`);

  const [key] = byVin.forRead({ vin, date: "2018-08-09" });
  const found = await container.item(vin, key).read();
  console.log(`one item by VIN and date: ${found.requestCharge} RU`);

  const moved = { ...made.resource, date: "2018-08-10" };
  try {
    byVin.apply(moved);
  } catch (error) {
    console.log(`a change of a source is refused: ${error.message}`);
  }
  await database.delete();
}

main();
