"use strict";
// Synthetic partition keys in JavaScript: the same keys as `armillary.keys.synthetic`, from the same JSON.
//
//   const k = readStrategy({ format: 1, levels: [{ path: "/partitionKey",
//     key: { strategy: "hashSuffix", base: "/date", by: "/vin", count: 400 } }] });
//   k.apply({ id: "1", date: "2018-08-09", vin: "1HGCM82633A004352" }).partitionKey   // 2018-08-09.356
//   k.forRead({ date: "2018-08-09" })                                                 // all 400 of them
//
// Nothing but Node is needed, 18 or newer. docs/support/synthetic-keys.json has the keys that every language must give.
// A definition is taken as it is: have it checked where it is made. What has no key is refused with `Refused`.
const { randomInt } = require("node:crypto");

class Refused extends Error {}

const utf8 = new TextEncoder();
const VALUE_BYTES = 2048;

// ---- values: a scalar at a path of names, or undefined; UNSAID is a source that a reader does not give

const UNSAID = Symbol("unsaid");
const NAME = /\/(?:([^/"'*?[\]\\\s\x00-\x1f]+)|"((?:[^"\\]|\\.)+)"|'((?:[^'\\]|\\.)+)')(?=\/|$)/sy;

function parsePath(text) {
  const names = [];
  NAME.lastIndex = 0;
  while (NAME.lastIndex < text.length) {
    const found = NAME.exec(text);
    if (!found) throw new Refused(`${text} is no path`);
    names.push(found[1] ?? (found[2] ?? found[3]).replace(/\\(["'\\])/g, "$1"));
  }
  return names;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toScalar(value) {
  return value === null || ["string", "number", "boolean"].includes(typeof value) ? value : undefined;
}

function valueAt(item, names) {
  let found = item;
  for (const name of names) {
    if (!isObject(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return toScalar(found);
}

// ---- texts: a value as text, several texts as one

const LOOKS_TYPED = /^(?:"|-?[0-9]|(?:true|false|null)$)/;

function spellNumber(value) {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new Refused(`${value} is not the same number in all languages`);
  }
  return String(value);
}

function spell(value, rules) {
  const apart = rules.types === "apart";
  if (value === undefined || (value === null && !apart)) {
    if (rules.missing === "refuse") throw new Refused("a source has no value");
    return rules.missing === "drop" ? null : rules.mark;
  }
  if (typeof value === "string") {
    if (/\p{Surrogate}/u.test(value)) throw new Refused("half a pair of UTF-16 is no text");
    const isMark = rules.missing === "mark" && value === rules.mark;
    if (apart) return isMark || LOOKS_TYPED.test(value) ? `"${value}` : value;
    if (isMark) throw new Refused("the value is the mark for a missing one");
    return value;
  }
  if (typeof value === "number") return apart && Object.is(value, -0) ? "-0" : spellNumber(value);
  return String(value);
}

function join(texts, fixed, { mode, delimiter, missing }) {
  const kept = texts.filter((text) => text !== null);
  if (!kept.length || texts.slice(0, kept.length).includes(null)) throw new Refused("a source is missing");
  if (mode === "length") return kept.map((text) => `${utf8.encode(text).length}:${text}`).join(delimiter);
  if (mode === "escaped") {
    const escape = (text) => text.replaceAll("\\", "\\\\").replaceAll(delimiter, `\\${delimiter}`);
    return kept.map(escape).join(delimiter);
  }
  kept.forEach((text, at) => {
    const free = missing !== "drop" && (at === 0 || fixed[at]);
    if (!free && text.includes(delimiter)) throw new Refused(`${text} holds the delimiter`);
  });
  return kept.join(delimiter);
}

// ---- moments: the hour, day or month in UTC

const WIDTHS = { hour: 13, day: 10, month: 7 };
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const MOMENT =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|([+-])([01]\d|2[0-3]):?([0-5]\d))$/;

function readMoment(value, unit) {
  if (typeof value === "number") return new Date(Math.floor(value) * 1000);
  if (typeof value !== "string") return null;
  const found = (unit !== "hour" && DATE.exec(value)) || MOMENT.exec(value);
  if (!found) return null;
  const [year, month, day, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map((part) => Number(part ?? 0));
  const local = new Date(0);
  local.setUTCFullYear(year, month - 1, day);
  local.setUTCHours(hour, minute, second);
  const spelled = [local.getUTCFullYear(), local.getUTCMonth() + 1, local.getUTCDate(), local.getUTCHours()];
  if (spelled.join() !== [year, month, day, hour].join() || minute > 59 || second > 59 || year < 1) return null;
  const offset = found[7] ? (Number(found[8]) * 60 + Number(found[9])) * 60_000 : 0;
  return new Date(local.getTime() + (found[7] === "+" ? -offset : offset));
}

function rollUp(value, unit) {
  const moment = readMoment(value, unit);
  const year = moment ? moment.getUTCFullYear() : NaN;
  if (!(year >= 1 && year <= 9999)) throw new Refused(`${String(value)} is no moment`);
  return moment.toISOString().slice(0, WIDTHS[unit]);
}

// ---- effective keys: murmur3 x64 128 with seed 0 of 08, the UTF-8 bytes and ff; its top two bits are cleared

const MASK = (1n << 64n) - 1n;
const C1 = 0x87c37b91114253d5n;
const C2 = 0x4cf5ad432745937fn;
const rotate = (x, by) => ((x << by) | (x >> (64n - by))) & MASK;

function mix(x) {
  x = ((x ^ (x >> 33n)) * 0xff51afd7ed558ccdn) & MASK;
  x = ((x ^ (x >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK;
  return x ^ (x >> 33n);
}

function hashText(text) {
  const bytes = Uint8Array.of(8, ...utf8.encode(text), 0xff);
  const whole = new DataView(new ArrayBuffer(Math.ceil(bytes.length / 16) * 16));
  new Uint8Array(whole.buffer).set(bytes);
  let [h1, h2] = [0n, 0n];
  for (let at = 0; at < whole.byteLength; at += 16) {
    // The last block may be cut: what is missing is zero, and it is mixed in without the rounds between blocks.
    h1 ^= (rotate((whole.getBigUint64(at, true) * C1) & MASK, 31n) * C2) & MASK;
    const isCut = at + 16 > bytes.length;
    if (!isCut) h1 = (((rotate(h1, 27n) + h2) & MASK) * 5n + 0x52dce729n) & MASK;
    h2 ^= (rotate((whole.getBigUint64(at + 8, true) * C2) & MASK, 33n) * C1) & MASK;
    if (!isCut) h2 = (((rotate(h2, 31n) + h1) & MASK) * 5n + 0x38495ab5n) & MASK;
  }
  h1 ^= BigInt(bytes.length);
  h2 ^= BigInt(bytes.length);
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  h1 = mix(h1);
  h2 = mix(h2);
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  return ((h2 << 64n) | h1) & ((1n << 126n) - 1n);
}

function pickSlot(text, count) {
  return Number((hashText(text) & ((1n << 48n) - 1n)) % BigInt(count));
}

const balanced = new Map();

function balanceNumbers(head, count) {
  const known = balanced.get(`${count} ${head}`);
  if (known) return known;
  const numbers = new Array(count);
  for (let number = 0, found = 0; found < count; number += 1) {
    const place = Number((hashText(head + number) * BigInt(count)) >> 126n);
    if (numbers[place] === undefined) {
      numbers[place] = number;
      found += 1;
    }
  }
  balanced.set(`${count} ${head}`, numbers);
  return numbers;
}

// ---- parts: each writes one text, and lists all that it may have written

const UNIFIED = { types: "unified", missing: "refuse", mark: "undefined" };

function readPart(json, rules = UNIFIED) {
  if (typeof json === "string") return plainPart(parsePath(json), rules);
  const parts = { concat: concatPart, rollup: rollupPart };
  return (parts[json.strategy] ?? suffixPart)(json);
}

function said(find, path) {
  const value = find(path);
  if (value === UNSAID) throw new Refused(`the value of ${path.join("_")} is needed`);
  return value;
}

function plainPart(path, rules) {
  const write = (find) => spell(said(find, path), rules);
  return { sources: [path], needed: [path], fixed: false, write, read: (find) => [write(find)] };
}

function rollupPart({ path: text, unit }) {
  const path = parsePath(text);
  const write = (find) => rollUp(said(find, path), unit);
  return { sources: [path], needed: [path], fixed: true, write, read: (find) => [write(find)] };
}

function concatPart(json) {
  const rules = { ...UNIFIED, mode: "readable", ...json };
  rules.delimiter ??= rules.mode === "length" ? "|" : "-";
  const parts = json.parts.map((part) => readPart(part, rules));
  const fixed = parts.map((part) => part.fixed);
  return {
    sources: parts.flatMap((part) => part.sources),
    needed: parts.flatMap((part) => part.needed),
    fixed: false,
    write: (find, choose) => join(parts.map((part) => part.write(find, choose)), fixed, rules),
    read: (find) => product(parts.map((part) => part.read(find))).map((texts) => join(texts, fixed, rules)),
  };
}

function suffixPart({ strategy, base: baseJson, by: byJson, count, earlier = [], delimiter = "." }) {
  const base = readPart(baseJson);
  const by = byJson === undefined ? null : readPart(byJson);
  const put = (text, slot, of) =>
    `${text}${delimiter}${strategy === "balancedSuffix" ? balanceNumbers(text + delimiter, of)[slot] : slot + 1}`;
  const slotsOf = (find, of) => {
    if (!by || by.needed.some((path) => find(path) === UNSAID)) return [...Array(of).keys()];
    return by.read(find).map((text) => pickSlot(text, of));
  };
  return {
    sources: [...base.sources, ...(by ? by.sources : [])],
    needed: base.needed,
    fixed: false,
    write: (find, choose) =>
      put(base.write(find, choose), by ? pickSlot(by.write(find, choose), count) : choose(count), count),
    read: (find) => [
      ...new Set(
        base.read(find).flatMap((text) => [count, ...earlier].flatMap((of) => slotsOf(find, of).map((slot) => put(text, slot, of)))),
      ),
    ],
  };
}

// ---- strategies

function readStrategy(json) {
  if (json.format !== 1) throw new Refused("the format is 1");
  const levels = json.levels.map(({ path, key }) => {
    const names = parsePath(path);
    const part = key === undefined ? null : readPart(key);
    return { names, part, needed: part ? part.needed : [names] };
  });
  const shape = (values) => (levels.length === 1 ? values[0] : values);
  const forItem = (item, choose) => shape(levels.map((level) => findValue(level, item, choose)));
  return {
    forItem,
    /** A copy of the item with its key in it. */
    apply(item, choose) {
      const made = levels.flatMap((level) => (level.part ? [[level.names[0], findValue(level, item, choose)]] : []));
      return { ...item, ...Object.fromEntries(made) };
    },
    /** All keys, or beginnings of hierarchical keys, under which items with these sources may be. */
    forRead(sources) {
      const find = (path) =>
        Object.hasOwn(sources, path.join("_")) ? toScalar(sources[path.join("_")]) : UNSAID;
      const said = levels.findIndex((level) => level.needed.some((path) => find(path) === UNSAID));
      const known = said < 0 ? levels : levels.slice(0, said);
      if (!known.length) throw new Refused("a source that reading needs is not given");
      return product(known.map((level) => readLevel(level, find))).map(shape);
    },
  };
}

function readLevel(level, find) {
  return level.part ? level.part.read(find).map(checkSize) : [takeOwn(find(level.names))];
}

function findValue({ names, part }, item, choose = randomInt) {
  const find = (path) => valueAt(item, path);
  if (!part) return takeOwn(find(names));
  if (!Object.hasOwn(item, names[0])) return checkSize(part.write(find, choose));
  const kept = find(names);
  if (!part.read(find).includes(kept)) throw new Refused("the item has a key that its sources do not give");
  return kept;
}

function takeOwn(value) {
  if (value === undefined) throw new Refused("the item has no value for a level of its key");
  return value;
}

function checkSize(text) {
  const size = utf8.encode(text).length;
  if (size < 1 || size > VALUE_BYTES) throw new Refused(`a key of ${size} bytes is none`);
  return text;
}

function product(lists) {
  return lists.reduce((heads, list) => heads.flatMap((head) => list.map((value) => [...head, value])), [[]]);
}

module.exports = { Refused, readStrategy };
