// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// @title Randomness of a drand chain, proven by its signatures
/// @notice A drand chain signs the number of each round with a key that is shared among its operators. A number
/// has one signature, which nobody knows before the round begins and nobody can choose: who brings it does
/// not matter. Anybody may bring one, and anybody may check one for nothing with verify().
interface IDrandBeacon {
    /// @notice The randomness of a round is known to this contract from now on.
    /// @param round The round of the drand chain.
    /// @param randomness SHA-256 of its signature.
    event BeaconProven(uint64 indexed round, bytes32 randomness);

    /// @notice The period is zero, or a time is beyond what fits.
    error BadSchedule();
    /// @notice The public key is not 192 bytes, or the point at infinity.
    error BadPublicKey();
    /// @notice A signature has 48 bytes: a compressed point of G1 that is not the one at infinity.
    error NotASignature();
    /// @notice The bytes are no point of G1, or not the signature of this round by this chain.
    error WrongSignature(uint64 round);
    /// @notice The chain lacks a precompile that this contract calls: EIP-2537 is not active.
    error PrecompileMissing(address precompile);

    /// @notice Stores the randomness of a round. Repeating it changes nothing.
    /// @param round The round, from 1.
    /// @param signature 48 bytes, as a drand relay serves them.
    /// @return randomness SHA-256 of the signature.
    function prove(uint64 round, bytes calldata signature) external returns (bytes32 randomness);

    /// @notice Checks a signature. Reverts unless it is the round's.
    /// @param round The round, from 1.
    /// @param signature 48 bytes.
    /// @return randomness SHA-256 of the signature.
    function verify(uint64 round, bytes calldata signature)
        external
        view
        returns (bytes32 randomness);

    /// @notice The randomness of a round that was proven.
    /// @param round The round.
    /// @return randomness Zero if nobody has proven it yet.
    function randomnessOf(uint64 round) external view returns (bytes32 randomness);

    /// @notice The round that draws what was fixed at a time: the first that begins `delayS` after it or later.
    /// @param timestamp Of the block that fixed it.
    /// @return round From 1.
    function roundAfter(uint64 timestamp) external view returns (uint64 round);

    /// @notice The drand chain and the delay, for ever.
    /// @return genesisS When round 1 began, in seconds since 1970.
    /// @return periodS Seconds between two rounds.
    /// @return delayS Seconds from a block's timestamp to the earliest beginning of the round that draws.
    function schedule() external view returns (uint64 genesisS, uint64 periodS, uint64 delayS);

    /// @notice The key of the drand chain.
    /// @return publicKey A point of G2, uncompressed: 192 bytes.
    function publicKey() external view returns (bytes memory publicKey);
}
