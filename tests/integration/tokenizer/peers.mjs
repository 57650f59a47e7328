// The peers that our tokenizer is compared with: npm's gpt-tokenizer and @huggingface/tokenizers.
//
//   peers.mjs encode gpt-tokenizer ENCODING CORPUS OUTPUT
//   peers.mjs encode huggingface   FOLDER   CORPUS OUTPUT
//   peers.mjs bench  gpt-tokenizer ENCODING TEXT REPEATS
//   peers.mjs bench  huggingface   FOLDER   TEXT REPEATS
//
// CORPUS: texts, each a u32 length (little-endian) and UTF-8. OUTPUT: for each text a u32 count and u32 ids. encode also
// decodes the ids and ends with 1 where that does not give the text back. bench prints the seconds of each repeat; FOLDER
// has tokenizer.json and tokenizer_config.json.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [, , command, peer, what, input, argument] = process.argv;

async function gptTokenizer(encoding) {
  const { encode, decode } = await import(`gpt-tokenizer/encoding/${encoding}`);
  const options = { disallowedSpecial: new Set() };
  return { encode: (text) => encode(text, options), decode };
}

async function huggingFace(folder) {
  const { Tokenizer } = await import("@huggingface/tokenizers");
  const json = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
  const tokenizer = new Tokenizer(json("tokenizer.json"), json("tokenizer_config.json"));
  const options = { add_special_tokens: false };
  return {
    encode: (text) => tokenizer.encode(text, options).ids,
    decode: (ids) => (ids.length === 0 ? "" : tokenizer.decode(ids)),
    normalize: (text) => (tokenizer.normalizer === null ? text : tokenizer.normalizer(text)),
  };
}

function encodeCorpus(tokenizer) {
  const corpus = readFileSync(input);
  const parts = [];
  let wrong = 0;
  for (let at = 0, line = 0; at < corpus.length; ++line) {
    const size = corpus.readUInt32LE(at);
    const text = corpus.toString("utf8", at + 4, at + 4 + size);
    at += 4 + size;
    const ids = tokenizer.encode(text);
    const expected = tokenizer.normalize?.(text) ?? text;
    if (tokenizer.decode(ids) !== expected && ++wrong <= 5)
      console.error(`text ${line} is not what its ids decode to: ${JSON.stringify(text)}`);
    const out = Buffer.alloc(4 * (ids.length + 1));
    out.writeUInt32LE(ids.length, 0);
    ids.forEach((id, i) => out.writeUInt32LE(id, 4 * (i + 1)));
    parts.push(out);
  }
  writeFileSync(argument, Buffer.concat(parts));
  return wrong === 0 ? 0 : 1;
}

/** Lines are what both peers are made for: their own caches keep words, not whole texts. */
function bench(tokenizer) {
  const lines = readFileSync(input, "utf8").split(/(?<=\n)/u);
  for (let repeat = 0; repeat < Number(argument); ++repeat) {
    const start = process.hrtime.bigint();
    let tokens = 0;
    for (const line of lines) tokens += tokenizer.encode(line).length;
    console.log(Number(process.hrtime.bigint() - start) / 1e9, tokens);
  }
  return 0;
}

const tokenizer = await (peer === "huggingface" ? huggingFace : gptTokenizer)(what);
process.exitCode = command === "bench" ? bench(tokenizer) : encodeCorpus(tokenizer);
