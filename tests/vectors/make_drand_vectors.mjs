// Writes drand.json: beacons of a drand chain with a key of our own, and broken ones, by @noble/curves.
//
// Usage: node tests/vectors/make_drand_vectors.mjs   (after scripts/setup.sh, from the top folder)
//
// The scheme is drand's bls-unchained-g1-rfc9380. `quicknet` is a beacon of the League of Entropy, as its relays serve
// it; all else follows from the key 0x2a.. below, so that a second run writes the same file.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../support/npm/package.json', import.meta.url));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { bls12_381 } = await load('@noble/curves/bls12-381.js');
const { sha256 } = await load('@noble/hashes/sha2.js');

const DST = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_';
const scheme = bls12_381.shortSignatures;
const { G1, G2 } = bls12_381;
const P = bls12_381.fields.Fp.ORDER;
const hex = (bytes) => '0x' + Buffer.from(bytes).toString('hex');
const unhex = (text) => Uint8Array.from(Buffer.from(text.replace('0x', ''), 'hex'));
const message = (round) => {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(round));
  return scheme.hash(sha256(number), DST);
};
const secret = unhex('2a'.repeat(31) + '01');
const other = unhex('2a'.repeat(31) + '02');
const sign = (round, key = secret) => scheme.sign(message(round), key).toBytes();
const uncompressed = (compressed) => hex(G2.Point.fromBytes(compressed).toBytes(false));

const quicknet = {
  public_key:
    '0x83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a',
  round: 1000,
  signature:
    '0xb44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39',
};
if (!scheme.verify(unhex(quicknet.signature), message(1000), unhex(quicknet.public_key)))
  throw new Error('the beacon of quicknet does not verify');
quicknet.public_key_uncompressed = uncompressed(unhex(quicknet.public_key));
quicknet.randomness = hex(sha256(unhex(quicknet.signature)));

const rounds = [];
for (let round = 1; round <= 64; ++round) {
  const signature = sign(round);
  rounds.push({ signature: hex(signature), randomness: hex(sha256(signature)) });
}

// x with flags: 48 bytes.
const encode = (x, larger) => {
  const out = unhex(x.toString(16).padStart(96, '0'));
  out[0] |= 0x80 | (larger ? 0x20 : 0);
  return hex(out);
};
const Fp = bls12_381.fields.Fp;
const isSquare = (v) => Fp.eql(Fp.pow(v, (P - 1n) / 2n), 1n);
const rhs = (x) => Fp.add(Fp.pow(x, 3n), 4n);
let off = 5n; // no point has this x
while (isSquare(rhs(off))) ++off;
let out = 5n; // a point of the curve, outside of the subgroup
while (!isSquare(rhs(out)) || G1.Point.fromAffine({ x: out, y: Fp.sqrt(rhs(out)) }).isTorsionFree()) ++out;
const right = sign(7);
const flipped = Uint8Array.from(right);
flipped[0] ^= 0x20;
const x = BigInt(hex(right)) & ((1n << 381n) - 1n);
// The same x in another encoding: x + p fits into 381 bits where x is small.
let small = 1;
while ((BigInt(hex(sign(small))) & ((1n << 381n) - 1n)) + P >= 1n << 381n) ++small;
const smallSignature = sign(small);
const smallX = BigInt(hex(smallSignature)) & ((1n << 381n) - 1n);
const broken = {
  another_key: { round: 7, signature: hex(sign(7, other)) },
  another_round: { round: 7, signature: hex(sign(8)) },
  negated: { round: 7, signature: hex(flipped) },
  off_the_curve: { round: 7, signature: encode(off, false) },
  off_the_subgroup: { round: 7, signature: encode(out, false) },
  not_below_p: { round: small, signature: encode(smallX + P, (smallSignature[0] & 0x20) !== 0) },
  infinity: { round: 7, signature: '0xc0' + '00'.repeat(47) },
  uncompressed: { round: 7, signature: encode(x, false).replace(/^0x./, (m) => '0x1') },
  truncated: { round: 7, signature: hex(right.slice(0, 47)) },
  longer: { round: 7, signature: hex(right) + '00' },
  empty: { round: 7, signature: '0x' },
};
const schedule = { genesis_s: 1900000000, period_s: 3 };
const publicKey = scheme.getPublicKey(secret).toBytes();
const chain = { ...schedule, public_key: hex(publicKey), public_key_uncompressed: uncompressed(publicKey), rounds };
writeFileSync(
  new URL('drand.json', import.meta.url),
  JSON.stringify({ origin: '@noble/curves 2.4.0 (npm, MIT): node tests/vectors/make_drand_vectors.mjs', quicknet, chain, broken }, null, 1) + '\n',
);
