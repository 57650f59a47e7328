// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";

import {AdminTimelock} from "./AdminTimelock.sol";

/// @title Roles that only grow after a delay
/// @notice The admin is an AdminTimelock and nobody else becomes it, so a role is granted and a limit raised only after an announcement
/// that is old enough for everybody to have left. What only protects is the guardian's, at once: it takes roles away and
/// lowers limits, and can neither grant nor raise any.
abstract contract DelayedRoles is AccessControl {
    /// @notice May stop, lower and take roles away.
    bytes32 public constant GUARDIAN_ROLE = keccak256("GUARDIAN_ROLE");

    AdminTimelock private immutable _timelock;

    /// @notice The timelock's delay is shorter than twice the time that leaving takes.
    error DelayTooShort(uint256 delay, uint256 least);
    /// @notice Nobody grants or revokes the admin's role. The timelock can renounce it, after its delay: then no role and no
    /// limit grows any more.
    error AdminIsFixed();

    /// @param timelock_ The admin.
    /// @param guardian The first holder of GUARDIAN_ROLE.
    /// @param exit Seconds that leaving takes. The delay is at least twice that: as much again to see an announcement.
    constructor(AdminTimelock timelock_, address guardian, uint64 exit) {
        uint256 delay = timelock_.getMinDelay();
        if (delay < 2 * uint256(exit)) revert DelayTooShort(delay, 2 * uint256(exit));
        _timelock = timelock_;
        _grantRole(DEFAULT_ADMIN_ROLE, address(timelock_));
        _grantRole(GUARDIAN_ROLE, guardian);
    }

    /// Lets the timelock act once nobody is kept from leaving.
    modifier onlyDelayed() {
        _checkRole(DEFAULT_ADMIN_ROLE);
        _requireExit();
        _;
    }

    /// Lets the guardian lower a limit at once, and the timelock set any.
    modifier onlyDelayedUnlessLower(uint256 next, uint256 current) {
        if (next > current || !hasRole(GUARDIAN_ROLE, msg.sender)) {
            _checkRole(DEFAULT_ADMIN_ROLE);
            _requireExit();
        }
        _;
    }

    /// @notice Grants a role other than the admin's. Only the timelock.
    /// @param role The role.
    /// @param account The new holder.
    function grantRole(bytes32 role, address account) public override onlyDelayed {
        if (role == DEFAULT_ADMIN_ROLE) revert AdminIsFixed();
        _grantRole(role, account);
    }

    /// @notice Takes a role away. The guardian does it at once, except with its own role.
    /// @param role Not the admin's.
    /// @param account The holder.
    function revokeRole(bytes32 role, address account) public override {
        if (role == DEFAULT_ADMIN_ROLE) revert AdminIsFixed();
        if (role == GUARDIAN_ROLE || !hasRole(GUARDIAN_ROLE, msg.sender)) {
            _checkRole(DEFAULT_ADMIN_ROLE);
        }
        _revokeRole(role, account);
    }

    /// @notice The admin.
    function timelock() external view returns (address) {
        return address(_timelock);
    }

    /// Reverts while somebody may be kept from leaving.
    function _requireExit() internal view virtual {}
}
