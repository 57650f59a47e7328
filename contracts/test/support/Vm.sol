// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

/// The cheat codes of forge that these tests use.
interface Vm {
    function addr(uint256 privateKey) external pure returns (address);
    function chainId(uint256 id) external;
    function deal(address account, uint256 balance) external;
    function assume(bool condition) external pure;
    function expectEmit(address emitter) external;
    function expectPartialRevert(bytes4 selector) external;
    function expectRevert(bytes calldata data) external;
    function expectRevert(bytes4 selector) external;
    function parseBytes(string calldata text) external pure returns (bytes memory);
    function parseJsonBytes(string calldata json, string calldata key)
        external
        pure
        returns (bytes memory);
    function parseJsonBytes32(string calldata json, string calldata key)
        external
        pure
        returns (bytes32);
    function parseJsonUint(string calldata json, string calldata key)
        external
        pure
        returns (uint256);
    function prank(address sender) external;
    function readFile(string calldata path) external view returns (string memory);
    function readLine(string calldata path) external view returns (string memory);
    function roll(uint256 blockNumber) external;
    function setEvmVersion(string calldata name) external;
    function sign(uint256 privateKey, bytes32 digest)
        external
        pure
        returns (uint8 v, bytes32 r, bytes32 s);
    function snapshotGasLastCall(string calldata group, string calldata name)
        external
        returns (uint256 gasUsed);
    function startPrank(address sender) external;
    function stopPrank() external;
    function toString(uint256 number) external pure returns (string memory);
    function warp(uint256 timestamp) external;
}
