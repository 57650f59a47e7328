// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IDrandBeacon} from "./interfaces/IDrandBeacon.sol";

/// @title Randomness of a drand chain, proven by its signatures
/// @notice See IDrandBeacon. For chains of drand's scheme `bls-unchained-g1-rfc9380`: signatures are points of G1
/// of BLS12-381, the message is SHA-256 of the round's number, hashed to the curve by RFC 9380 with SHA-256.
/// @dev Needs the precompiles of EIP-2537. The one for pairings refuses points off the curve and outside of the
/// subgroup, so nothing here looks at that again.
contract DrandBeacon is IDrandBeacon {
    /// @notice Bytes of a signature: a compressed point of G1.
    uint256 public constant SIGNATURE_BYTES = 48;
    /// @notice Bytes of a key: an uncompressed point of G2.
    uint256 public constant PUBLIC_KEY_BYTES = 192;

    address private constant MODEXP = address(0x05);
    address private constant G1_ADD = address(0x0b);
    address private constant PAIRING = address(0x0f);
    /// @dev Several times what EIP-2537 asks for two pairs: bytes that encode no point take all that is given.
    uint256 private constant PAIRING_GAS = 500_000;
    address private constant MAP_FP_TO_G1 = address(0x10);

    /// @dev The field's prime p in 64 bytes, big-endian.
    uint256 private constant P_HIGH = 0x1a0111ea397fe69a4b1ba7b6434bacd7;
    uint256 private constant P_LOW =
        0x64774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab;
    /// @dev (p - 1) / 2: a compressed point has bit 0x20 if its y is larger.
    uint256 private constant HALF_HIGH = 0x0d0088f51cbff34d258dd3db21a5d66b;
    uint256 private constant HALF_LOW =
        0xb23ba5c279c2895fb39869507b587b120f55ffff58a9ffffdcff7fffffffd555;
    /// @dev (p + 1) / 4, 48 bytes: p is 3 modulo 4, so that this power of a square is its root.
    bytes private constant ROOT_EXPONENT =
        hex"0680447a8e5ff9a692c6e9ed90d2eb35d91dd2e13ce144afd9cc34a83dac3d8907aaffffac54ffffee7fbfffffffeaab";
    /// @dev The generator of G2 as EIP-2537 writes it: x.c0, x.c1, y.c0, y.c1, 64 bytes each.
    bytes private constant G2_GENERATOR = hex"00000000000000000000000000000000024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"
        hex"0000000000000000000000000000000013e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e"
        hex"000000000000000000000000000000000ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"
        hex"000000000000000000000000000000000606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be";
    /// @dev Of drand's scheme, and its length behind it (RFC 9380, 5.3.1: DST_prime).
    bytes private constant DST_PRIME = "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_\x2b";

    bytes1 private constant COMPRESSED = 0x80;
    bytes1 private constant INFINITY = 0x40;
    bytes1 private constant LARGER_Y = 0x20;
    bytes1 private constant X_BITS = 0x1f;

    /// @dev A number below 2^512, big-endian.
    struct Wide {
        uint256 high;
        uint256 low;
    }

    uint64 private immutable _GENESIS_S;
    uint64 private immutable _PERIOD_S;
    uint64 private immutable _DELAY_S;
    /// @dev As EIP-2537 writes it.
    bytes private _key;
    mapping(uint64 round => bytes32) private _randomness;

    /// @notice Fixes the drand chain, and shows with one of its signatures that key and precompiles are right.
    /// @param key Of the chain: x.c1, x.c0, y.c1, y.c0, 48 bytes each.
    /// @param genesisS When round 1 began.
    /// @param periodS Seconds between two rounds.
    /// @param delayS Seconds from a block's timestamp to the earliest beginning of the round that draws.
    /// @param round Any round of the chain.
    /// @param signature Of that round.
    constructor(
        bytes memory key,
        uint64 genesisS,
        uint64 periodS,
        uint64 delayS,
        uint64 round,
        bytes memory signature
    ) {
        if (periodS == 0 || genesisS > type(uint32).max || delayS > 365 days) {
            revert BadSchedule();
        }
        (_GENESIS_S, _PERIOD_S, _DELAY_S) = (genesisS, periodS, delayS);
        if (key.length != PUBLIC_KEY_BYTES) revert BadPublicKey();
        bytes memory point = abi.encodePacked(
            _padded(key, 48), _padded(key, 0), _padded(key, 144), _padded(key, 96)
        );
        // Every signature would fit the point at infinity.
        if (keccak256(point) == keccak256(new bytes(256))) revert BadPublicKey();
        _key = point;
        _store(round, _check(point, round, signature));
    }

    /// @inheritdoc IDrandBeacon
    function prove(uint64 round, bytes calldata signature) external returns (bytes32 randomness) {
        randomness = _check(_key, round, signature);
        if (_randomness[round] == 0) _store(round, randomness);
    }

    /// @inheritdoc IDrandBeacon
    function verify(uint64 round, bytes calldata signature) external view returns (bytes32) {
        return _check(_key, round, signature);
    }

    /// @inheritdoc IDrandBeacon
    function randomnessOf(uint64 round) external view returns (bytes32) {
        return _randomness[round];
    }

    /// @inheritdoc IDrandBeacon
    function roundAfter(uint64 timestamp) external view returns (uint64) {
        uint256 earliest = uint256(timestamp) + _DELAY_S;
        if (earliest <= _GENESIS_S) return 1;
        uint256 periods = (earliest - _GENESIS_S + _PERIOD_S - 1) / _PERIOD_S;
        if (periods >= type(uint64).max) revert BadSchedule();
        // casting to 'uint64' is safe because of the line above
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint64(periods + 1);
    }

    /// @inheritdoc IDrandBeacon
    function schedule() external view returns (uint64 genesisS, uint64 periodS, uint64 delayS) {
        return (_GENESIS_S, _PERIOD_S, _DELAY_S);
    }

    /// @inheritdoc IDrandBeacon
    function publicKey() external view returns (bytes memory) {
        bytes memory key = _key;
        bytes memory out = new bytes(PUBLIC_KEY_BYTES);
        for (uint256 i = 0; i < PUBLIC_KEY_BYTES; ++i) {
            // Part c1 stands before c0 here, and behind it there.
            uint256 part = (i / 48) ^ 1;
            out[i] = key[64 * part + 16 + i % 48];
        }
        return out;
    }

    function _store(uint64 round, bytes32 randomness) private {
        _randomness[round] = randomness;
        emit BeaconProven(round, randomness);
    }

    /// @dev The randomness of a round, if the signature is the one of `key` under it.
    function _check(bytes memory key, uint64 round, bytes memory signature)
        private
        view
        returns (bytes32)
    {
        if (signature.length != SIGNATURE_BYTES) revert NotASignature();
        bytes1 flags = signature[0];
        if (flags & COMPRESSED == 0 || flags & INFINITY != 0) revert NotASignature();
        // e(-S, G) e(H, K) = 1 exactly if e(S, G) = e(H, K).
        (bool ok, bytes memory one) = PAIRING.staticcall{gas: PAIRING_GAS}(
            abi.encodePacked(_negated(signature, round), G2_GENERATOR, _hashToCurve(round), key)
        );
        if (ok && one.length == 0) revert PrecompileMissing(PAIRING);
        if (!ok || abi.decode(one, (uint256)) != 1) revert WrongSignature(round);
        return sha256(signature);
    }

    /// @dev The negative of a compressed point: 128 bytes. For an x without a point on the curve the result is not a point either.
    function _negated(bytes memory signature, uint64 round) private view returns (bytes memory) {
        bytes1 flags = signature[0];
        Wide memory x;
        assembly ("memory-safe") {
            // 48 bytes: the first 16 above the word that ends with the last.
            mstore(x, shr(128, mload(add(signature, 32))))
            mstore(add(x, 32), mload(add(signature, 48)))
        }
        x.high &= (uint256(uint8(X_BITS)) << 120) | ((uint256(1) << 120) - 1);
        // Two encodings of one point would give two values of randomness.
        if (!_isBelowP(x)) revert WrongSignature(round);
        Wide memory square = _power(x, hex"03");
        square = _power(_sum(square, Wide(0, 4)), hex"01");
        Wide memory y = _power(square, ROOT_EXPONENT);
        bool isLarger = y.high > HALF_HIGH || (y.high == HALF_HIGH && y.low > HALF_LOW);
        // The other root than the one that the signature has.
        if (isLarger == (flags & LARGER_Y != 0)) y = _fromP(y);
        return abi.encodePacked(x.high, x.low, y.high, y.low);
    }

    /// @dev hash_to_curve of RFC 9380, suite BLS12381G1_XMD:SHA-256_SSWU_RO_: 128 bytes. The precompile clears the
    /// cofactor of each of both points.
    function _hashToCurve(uint64 round) private view returns (bytes memory) {
        bytes32 message = sha256(abi.encodePacked(round));
        // expand_message_xmd to 128 bytes.
        bytes32 b0 =
            sha256(abi.encodePacked(new bytes(64), message, uint16(128), uint8(0), DST_PRIME));
        bytes32 b1 = sha256(abi.encodePacked(b0, uint8(1), DST_PRIME));
        bytes32 b2 = sha256(abi.encodePacked(b0 ^ b1, uint8(2), DST_PRIME));
        bytes32 b3 = sha256(abi.encodePacked(b0 ^ b2, uint8(3), DST_PRIME));
        bytes32 b4 = sha256(abi.encodePacked(b0 ^ b3, uint8(4), DST_PRIME));
        return _call(
            G1_ADD,
            abi.encodePacked(
                _mapToCurve(Wide(uint256(b1), uint256(b2))),
                _mapToCurve(Wide(uint256(b3), uint256(b4)))
            )
        );
    }

    function _mapToCurve(Wide memory number) private view returns (bytes memory) {
        Wide memory element = _power(number, hex"01");
        return _call(MAP_FP_TO_G1, abi.encodePacked(element.high, element.low));
    }

    /// @dev base^exponent modulo p (EIP-198).
    function _power(Wide memory base, bytes memory exponent) private view returns (Wide memory) {
        bytes memory out = _call(
            MODEXP,
            abi.encodePacked(
                uint256(64),
                exponent.length,
                uint256(64),
                base.high,
                base.low,
                exponent,
                P_HIGH,
                P_LOW
            )
        );
        (uint256 high, uint256 low) = abi.decode(out, (uint256, uint256));
        return Wide(high, low);
    }

    function _call(address precompile, bytes memory input) private view returns (bytes memory) {
        (bool ok, bytes memory out) = precompile.staticcall(input);
        // What is called here takes every input of this contract.
        if (!ok || out.length == 0) revert PrecompileMissing(precompile);
        return out;
    }

    function _isBelowP(Wide memory a) private pure returns (bool) {
        return a.high < P_HIGH || (a.high == P_HIGH && a.low < P_LOW);
    }

    function _sum(Wide memory a, Wide memory b) private pure returns (Wide memory out) {
        unchecked {
            // Both are below 2^384: the high words cannot overflow.
            out.low = a.low + b.low;
            out.high = a.high + b.high + (out.low < a.low ? 1 : 0);
        }
    }

    /// @dev p - a, of an a below p.
    function _fromP(Wide memory a) private pure returns (Wide memory out) {
        unchecked {
            // a is not above p.
            out.low = P_LOW - a.low;
            out.high = P_HIGH - a.high - (a.low > P_LOW ? 1 : 0);
        }
    }

    /// @dev 48 bytes of a key from `offset` on, with 16 zeros before.
    function _padded(bytes memory key, uint256 offset) private pure returns (bytes memory out) {
        out = new bytes(64);
        for (uint256 i = 0; i < 48; ++i) {
            out[16 + i] = key[offset + i];
        }
    }
}
