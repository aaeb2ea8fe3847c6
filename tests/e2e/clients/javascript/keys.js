"use strict";
// Cases from stdin, a strategy and an item or sources each; what the sample makes of them to stdout.
const { readFileSync } = require("node:fs");
const { Refused, readStrategy } = require(process.argv[2]);

function answer({ strategy, item, sources }) {
  try {
    const found = readStrategy(strategy);
    return item === undefined ? { keys: found.forRead(sources) } : { key: found.forItem(item) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: true };
  }
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(answer)));
