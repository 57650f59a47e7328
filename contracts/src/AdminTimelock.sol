// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";

/// @title The admin of the contracts: whatever it does was announced a fixed time before
/// @notice The admin's key announces and executes, the guardian can cancel. OpenZeppelin's TimelockController with three
/// differences: nobody changes the delay, an announcement lapses, and all announcements can be listed.
contract AdminTimelock is TimelockController {
    /// @notice One schedule() or scheduleBatch().
    /// @param id The operation.
    /// @param blockNumber Its block, where the event CallScheduled tells what it does.
    struct Announcement {
        bytes32 id;
        uint64 blockNumber;
    }

    /// @notice Seconds in which an announcement can be executed. Then it has to be made again, so that nobody keeps one
    /// ready for those who come later.
    uint256 public constant EXECUTION_PERIOD = 14 days;
    /// @notice Bound of the delay.
    uint256 public constant DELAY_MAX = 90 days;

    Announcement[] private _announcements;

    /// @notice An address that must not be zero is.
    error ZeroAddress();
    /// @notice The delay is beyond its bound.
    error DelayTooLong(uint256 delay, uint256 max);
    /// @notice Deposits and rewards rely on the delay, so it never changes.
    error DelayIsFixed();

    /// @notice Creates a timelock that administers itself.
    /// @param delay Seconds between an announcement and its execution.
    /// @param admin The key that announces, executes and cancels.
    /// @param guardian Another key that cancels.
    constructor(uint256 delay, address admin, address guardian)
        TimelockController(delay, _only(admin), _only(admin), address(0))
    {
        if (admin == address(0) || guardian == address(0)) revert ZeroAddress();
        if (delay > DELAY_MAX) revert DelayTooLong(delay, DELAY_MAX);
        _grantRole(CANCELLER_ROLE, guardian);
    }

    /// @inheritdoc TimelockController
    function schedule(
        address target,
        uint256 value,
        bytes calldata data,
        bytes32 predecessor,
        bytes32 salt,
        uint256 delay
    ) public override {
        super.schedule(target, value, data, predecessor, salt, delay);
        _record(hashOperation(target, value, data, predecessor, salt));
    }

    /// @inheritdoc TimelockController
    function scheduleBatch(
        address[] calldata targets,
        uint256[] calldata values,
        bytes[] calldata payloads,
        bytes32 predecessor,
        bytes32 salt,
        uint256 delay
    ) public override {
        super.scheduleBatch(targets, values, payloads, predecessor, salt, delay);
        _record(hashOperationBatch(targets, values, payloads, predecessor, salt));
    }

    /// @notice Always reverts.
    function updateDelay(uint256) public pure override {
        revert DelayIsFixed();
    }

    /// @inheritdoc TimelockController
    function getOperationState(bytes32 id) public view override returns (OperationState state) {
        state = super.getOperationState(id);
        if (state == OperationState.Ready && block.timestamp > getTimestamp(id) + EXECUTION_PERIOD)
        {
            state = OperationState.Unset;
        }
    }

    /// @notice How many announcements there were.
    function announcementCount() external view returns (uint256) {
        return _announcements.length;
    }

    /// @notice An announcement, whatever became of it.
    /// @param index From 0, in the order in which they were made.
    /// @return id The operation; TimelockController tells its state.
    /// @return blockNumber The block of its event CallScheduled.
    function announcement(uint256 index) external view returns (bytes32 id, uint64 blockNumber) {
        Announcement storage made = _announcements[index];
        return (made.id, made.blockNumber);
    }

    function _record(bytes32 id) private {
        _announcements.push(Announcement(id, uint64(block.number)));
    }

    function _only(address account) private pure returns (address[] memory list) {
        list = new address[](1);
        list[0] = account;
    }
}
