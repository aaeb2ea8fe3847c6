"use strict";
// One line for each step; what the test expects stands in test_clients.py.
const { readFileSync } = require("node:fs");
const { Agent } = require("node:https");
const { CosmosClient } = require("@azure/cosmos");

const endpoint = process.env.TOUR_ENDPOINT;
const trust = process.env.TOUR_TRUST; // a certificate for this client alone; else what the process trusts
const client = new CosmosClient({
  endpoint,
  key: process.env.ARMILLARY_KEY,
  ...(trust ? { agent: new Agent({ ca: readFileSync(trust), keepAlive: true }) } : {}),
});

async function refusal(call) {
  try {
    await call();
  } catch (error) {
    return error.code;
  }
  return "none";
}

async function main() {
  const { database } = await client.databases.create({ id: process.env.TOUR_DATABASE });
  const again = await client.databases.createIfNotExists({ id: process.env.TOUR_DATABASE });
  console.log("database", again.statusCode);
  const { container } = await database.containers.createIfNotExists({
    id: "orders",
    partitionKey: { paths: ["/customer"], version: 2 },
  });
  const order = { id: "1001", customer: "ada", total: 42.5, text: "größe 日本" };
  const made = await container.items.upsert(order);
  console.log("upsert", made.statusCode, made.resource.total);
  const item = container.item("1001", "ada");
  const read = await item.read();
  console.log("read", read.statusCode, read.resource.text, read.requestCharge);
  const put = await item.replace(
    { ...order, total: 45 },
    { accessCondition: { type: "IfMatch", condition: read.etag } },
  );
  console.log("replace", put.statusCode, put.resource.total);
  const stale = { accessCondition: { type: "IfMatch", condition: read.etag } };
  console.log("stale", await refusal(() => item.replace(order, stale)));
  console.log("taken", await refusal(() => container.items.create(order)));
  await container.items.create({ id: "1002" });
  console.log("no key", (await container.item("1002", undefined).read()).resource.id);
  const { resources: ranges } = await container.readPartitionKeyRanges().fetchAll();
  console.log("ranges", ranges.length);
  // This client lists items by a query as well.
  const { resources: all } = await container.items.readAll().fetchAll();
  console.log("list", all.length);
  const { resources: large } = await container.items.query("SELECT * FROM c WHERE c.total > 40").fetchAll();
  console.log("query", large.length);
  console.log("delete", (await item.delete()).statusCode);
  console.log("missing", (await item.read()).statusCode, await refusal(() => item.delete()));
  const { resources: databases } = await client.databases.readAll().fetchAll();
  console.log("listed", databases.some((row) => row.id === process.env.TOUR_DATABASE));
  await container.delete();
  await database.delete();
  console.log("gone", await refusal(() => database.read()));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
