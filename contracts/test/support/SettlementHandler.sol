// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {AdminTimelock} from "../../src/AdminTimelock.sol";
import {GymToken} from "../../src/GymToken.sol";
import {JobEscrow} from "../../src/JobEscrow.sol";
import {RewardsDistributor} from "../../src/RewardsDistributor.sol";
import {IJobEscrow} from "../../src/interfaces/IJobEscrow.sol";
import {IRewardsDistributor} from "../../src/interfaces/IRewardsDistributor.sol";
import {Orders} from "./Orders.sol";
import {TestBase} from "./TestBase.sol";
import {Tree} from "./Tree.sol";

/// Plays every role with random arguments. Calls that may legally be refused are made through `_try`.
contract SettlementHandler is TestBase {
    uint256 public constant EARNERS = 5;
    uint256 public constant OWNERS = 3;
    uint64 private constant DELAY = 1 hours;
    address private constant SETTLER = address(0x5e);
    address private constant GUARDIAN = address(0x9a);
    address private constant STRANGER = address(0x57a);
    address private constant ADMIN_KEY = address(0xad);
    address private constant THIEF = address(0x7e1f);
    uint256 private constant ADMIN_DELAY = 2 days;

    struct Change {
        address target;
        bytes call;
        bytes32 salt;
    }

    /// The leaves of a root that was posted.
    struct Posted {
        uint64 epoch;
        uint64 activeAt;
        bool disabled;
        uint256[EARNERS] earned;
    }

    GymToken public token;
    JobEscrow public escrow;
    RewardsDistributor public distributor;
    AdminTimelock public timelock;
    uint256 public deposited;
    uint256 public withdrawn;
    uint256 public paidByDisabledRoots;
    /// Roots under which an earner fell and that nobody could disable; right roots that somebody could.
    uint256 public falseVerdicts;
    /// What the holder of the admin's key changed before the delay of an announcement was over.
    uint256 public earlyChanges;
    /// What owners did not get when their exits were due.
    uint256 public trapped;
    /// What each owner's orders come to, and what was released of it.
    uint256[OWNERS] public signed;
    uint256[OWNERS] public released;
    /// Orders that locked though their owner did not sign them, or twice.
    uint256 public forged;

    Posted[] private _posted;
    mapping(bytes32 change => uint256) private _announcedAt;
    uint256 private _now = 1_000_000;
    uint64 private _epoch;
    address private immutable CREATOR = msg.sender;

    constructor() {
        vm.warp(_now);
        token = new GymToken(address(this), type(uint256).max);
        timelock = new AdminTimelock(ADMIN_DELAY, ADMIN_KEY, GUARDIAN);
        distributor = new RewardsDistributor(
            IERC20(address(token)), timelock, SETTLER, GUARDIAN, DELAY, 1e30
        );
        escrow = new JobEscrow(
            IERC20(address(token)),
            address(distributor),
            timelock,
            SETTLER,
            GUARDIAN,
            1 days,
            10,
            1e30
        );
        token.approve(address(escrow), type(uint256).max);
    }

    // --- what forge calls ---

    function wait(uint256 seconds_) external {
        _pass(bound(seconds_, 1, 2 days));
    }

    function deposit(uint256 who, uint256 amount) external {
        amount = bound(amount, 1, 1e20);
        if (_try(
                address(this), address(escrow), abi.encodeCall(escrow.deposit, (owner(who), amount))
            )) {
            deposited += amount;
        }
    }

    /// Locks an order of an owner, who may have less than it signed for; tries one that somebody else signed, and both again.
    function lock(uint256 who, uint256 amount, uint256 nonce, bool honest) external {
        address from = owner(who);
        IJobEscrow.JobOrder memory order;
        order.owner = from;
        order.budget = bound(amount, 1, escrow.balanceOf(from) + 1);
        order.nonce = bytes32(nonce % 64);
        order.expiry = uint64(_now);
        bool used = escrow.jobLockOf(from, order.nonce) != 0;
        uint256 signer = _ownerKey(honest ? who : who % OWNERS + 1);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(signer, Orders.digest(address(escrow), order));
        bytes memory call = abi.encodeCall(escrow.lock, (order, abi.encodePacked(r, s, v)));
        if (_try(SETTLER, address(escrow), call)) {
            signed[who % OWNERS] += order.budget;
            if (used || !honest) ++forged;
        }
        if (_try(SETTLER, address(escrow), call)) ++forged;
    }

    function unlock(uint256 who, uint256 total) external {
        address[] memory owners = new address[](1);
        uint256[] memory totals = new uint256[](1);
        owners[0] = owner(who);
        totals[0] = bound(total, 0, 2 * escrow.unlockedOf(owners[0]) + 1e18);
        _try(SETTLER, address(escrow), abi.encodeCall(escrow.unlock, (owners, totals)));
    }

    function release(uint256 who, uint256 amount, bool next) external {
        if (next) _pass(10);
        (uint64 current,) = escrow.releaseState();
        address[] memory owners = new address[](1);
        uint256[] memory amounts = new uint256[](1);
        owners[0] = owner(who);
        // One base unit more than there is, at times.
        amounts[0] = bound(amount, 1, escrow.lockedOf(owners[0]) + 1);
        uint64 epoch = next ? current + 1 : current;
        if (_try(
                SETTLER, address(escrow), abi.encodeCall(escrow.release, (epoch, owners, amounts))
            )) {
            released[who % OWNERS] += amounts[0];
        }
    }

    function withdraw(uint256 who, uint256 amount) external {
        address from = owner(who);
        amount = bound(amount, 0, escrow.balanceOf(from));
        _try(from, address(escrow), abi.encodeCall(escrow.requestWithdrawal, (amount)));
        _pass(1 days);
        _withdraw(from);
    }

    /// Leaves, with a settler that unlocks nothing.
    function depart(uint256 who) external {
        address from = owner(who);
        if (!_try(from, address(escrow), abi.encodeCall(escrow.requestExit, ()))) {
            _try(from, address(escrow), abi.encodeCall(escrow.cancelExit, ()));
            return;
        }
        _pass(escrow.EXIT_DELAY());
        _exit(from);
    }

    /// Posts earnings that spend a random part of what is funded; at times more than that.
    function submit(uint256 seed, bool tooMuch) external {
        uint256[EARNERS] memory earned = _lastActiveEarned();
        uint256 free = distributor.totalClaimed() + token.balanceOf(address(distributor));
        for (uint256 i = 0; i < EARNERS; ++i) {
            free -= earned[i] < free ? earned[i] : free;
        }
        for (uint256 i = 0; i < EARNERS; ++i) {
            uint256 part = uint256(keccak256(abi.encode(seed, i))) % (free + 1);
            earned[i] += part;
            free -= part;
        }
        if (tooMuch) earned[0] += free + 1;
        _submit(earned);
    }

    function disable() external {
        uint64 epoch = distributor.pendingRoot().epoch;
        if (!_try(GUARDIAN, address(distributor), abi.encodeCall(distributor.disable, (epoch)))) {
            return;
        }
        _posted[_posted.length - 1].disabled = true;
    }

    /// Posts a root that takes from one earner and gives to another; a stranger disables it.
    function submitFallen(uint256 seed) external {
        uint256[EARNERS] memory earned = _lastActiveEarned();
        uint256 who = seed % EARNERS;
        if (earned[who] == 0) return;
        uint256 by = 1 + (seed >> 8) % earned[who];
        earned[who] -= by;
        earned[(who + 1) % EARNERS] += by;
        uint256 before = _posted.length;
        _submit(earned);
        if (_posted.length == before) return;
        if (!_disprove(who)) ++falseVerdicts;
        _posted[before].disabled = true;
    }

    /// Tries to disable a right root by any earner's leaves.
    function disprove(uint256 who) external {
        if (distributor.pendingRoot().epoch == 0) return;
        if (_disprove(who % EARNERS)) ++falseVerdicts;
    }

    /// Demands an earner's leaf of the pending root, which is shown or not; a root that left a demand open never pays.
    function demand(uint256 who, bool show) external {
        (bool found, uint256 index) = _activeIndex();
        uint64 epoch = distributor.pendingRoot().epoch;
        if (!found || epoch == 0) return;
        IRewardsDistributor.Claim memory leaf = _leaf(_posted[index].earned, who % EARNERS);
        uint256 bond = distributor.demandBond();
        vm.deal(STRANGER, STRANGER.balance + bond);
        vm.prank(STRANGER);
        try distributor.demandLeaf{value: bond}(epoch, leaf) {}
        catch {
            return;
        }
        Posted storage pending = _posted[_posted.length - 1];
        leaf = _leaf(pending.earned, who % EARNERS);
        bool shown = show
            && _try(
                STRANGER, address(distributor), abi.encodeCall(distributor.showLeaf, (epoch, leaf))
            );
        if (show && !shown) ++falseVerdicts;
        if (!shown) pending.disabled = true;
    }

    /// Claims under any root ever posted, which only the active one may honour.
    function claim(uint256 which, uint256 who, bool many) external {
        if (_posted.length == 0) return;
        _claim(bound(which, 0, _posted.length - 1), who % EARNERS, many);
    }

    function claimLatest(uint256 who) external {
        if (_posted.length != 0) _claim(_posted.length - 1, who % EARNERS, false);
    }

    function pause(bool ofClaims, bool ofEscrow) external {
        address target = ofEscrow ? address(escrow) : address(distributor);
        _try(GUARDIAN, target, abi.encodeCall(escrow.pause, ()));
        if (ofClaims) {
            _try(GUARDIAN, address(distributor), abi.encodeCall(distributor.pauseClaims, ()));
        }
    }

    function unpause() external {
        _try(address(timelock), address(escrow), abi.encodeCall(escrow.unpause, ()));
        _try(address(timelock), address(distributor), abi.encodeCall(distributor.unpause, ()));
    }

    /// With the admin's stolen key: announces a grant of the settler's role to the thief, or higher limits, by itself.
    function announce(uint256 which, uint256 salt) external {
        Change memory wanted = _change(which, salt % 4);
        bool ok = _try(
            ADMIN_KEY,
            address(timelock),
            abi.encodeCall(
                timelock.schedule,
                (wanted.target, 0, wanted.call, bytes32(0), wanted.salt, ADMIN_DELAY)
            )
        );
        if (ok) _announcedAt[_key(wanted)] = _now;
    }

    /// With the same key: the change itself, and its execution, whether it was announced or not.
    function execute(uint256 which, uint256 salt) external {
        Change memory wanted = _change(which, salt % 4);
        if (_try(ADMIN_KEY, wanted.target, wanted.call)) ++earlyChanges;
        bytes memory execution = abi.encodeCall(
            timelock.execute, (wanted.target, 0, wanted.call, bytes32(0), wanted.salt)
        );
        if (!_try(ADMIN_KEY, address(timelock), execution)) return;
        uint256 announcedAt = _announcedAt[_key(wanted)];
        if (announcedAt == 0 || _now < announcedAt + ADMIN_DELAY) ++earlyChanges;
        _announcedAt[_key(wanted)] = 0;
    }

    /// What the guardian does at once: takes back what the thief may have got, and cancels.
    function protect(uint256 which, uint256 salt) external {
        _try(
            GUARDIAN,
            address(escrow),
            abi.encodeCall(escrow.revokeRole, (escrow.SETTLER_ROLE(), THIEF))
        );
        _try(
            GUARDIAN,
            address(distributor),
            abi.encodeCall(distributor.revokeRole, (distributor.SETTLER_ROLE(), THIEF))
        );
        Change memory wanted = _change(which, salt % 4);
        bytes32 id = timelock.hashOperation(wanted.target, 0, wanted.call, bytes32(0), wanted.salt);
        if (_try(GUARDIAN, address(timelock), abi.encodeCall(timelock.cancel, (id)))) {
            _announcedAt[_key(wanted)] = 0;
        }
    }

    // --- what the invariants read ---

    /// At the end of a history, with every pause on that can be: time passes, then everybody takes what is theirs.
    function everybodyLeaves() external {
        if (msg.sender != CREATOR) return; // forge would empty every history early
        _try(GUARDIAN, address(escrow), abi.encodeCall(escrow.pause, ()));
        _try(GUARDIAN, address(distributor), abi.encodeCall(distributor.pause, ()));
        _try(GUARDIAN, address(distributor), abi.encodeCall(distributor.pauseClaims, ()));
        _pass(distributor.CLAIM_PAUSE_MAX());
        for (uint256 i = 0; i < OWNERS; ++i) {
            vm.prank(owner(i));
            escrow.requestExit();
        }
        _pass(escrow.EXIT_DELAY());
        for (uint256 i = 0; i < OWNERS; ++i) {
            _exit(owner(i));
        }
        (bool found, uint256 index) = _activeIndex();
        for (uint256 i = 0; found && i < EARNERS; ++i) {
            _claim(index, i, false);
        }
    }

    function earner(uint256 index) public pure returns (address) {
        return address(uint160(0xe000 + index % EARNERS));
    }

    function owner(uint256 index) public pure returns (address) {
        return vm.addr(_ownerKey(index));
    }

    function received(uint256 index) external view returns (uint256) {
        return token.balanceOf(earner(index));
    }

    function activeEarned(uint256 index) external view returns (uint256) {
        return _lastActiveEarned()[index];
    }

    function highestActiveEarned(uint256 index) external view returns (uint256 highest) {
        for (uint256 i = 0; i < _posted.length; ++i) {
            if (!_wasActive(i)) continue;
            if (_posted[i].earned[index] > highest) highest = _posted[i].earned[index];
        }
    }

    function highestActiveTotal() external view returns (uint256 highest) {
        for (uint256 i = 0; i < _posted.length; ++i) {
            if (!_wasActive(i)) continue;
            uint256 total = _sum(_posted[i].earned);
            if (total > highest) highest = total;
        }
    }

    // --- helpers ---

    function _submit(uint256[EARNERS] memory earned) private {
        uint64 epoch = ++_epoch;
        bytes32 root = Tree.root(_leaves(earned));
        bytes memory call =
            abi.encodeCall(distributor.submitRoot, (epoch, root, _sum(earned), bytes32("file")));
        if (!_try(SETTLER, address(distributor), call)) return;
        _posted.push();
        Posted storage posted = _posted[_posted.length - 1];
        posted.epoch = epoch;
        posted.activeAt = uint64(_now) + DELAY;
        posted.earned = earned;
    }

    /// By the leaves of one earner under the active and the last root.
    function _disprove(uint256 who) private returns (bool ok) {
        (bool found, uint256 index) = _activeIndex();
        if (!found) return false;
        uint256[EARNERS] memory active = _posted[index].earned;
        uint256[EARNERS] memory pending = _posted[_posted.length - 1].earned;
        bytes memory call = abi.encodeCall(
            distributor.disableFallen,
            (distributor.pendingRoot().epoch, _leaf(active, who), _leaf(pending, who))
        );
        return _try(STRANGER, address(distributor), call);
    }

    function _claim(uint256 which, uint256 who, bool many) private {
        Posted storage posted = _posted[which];
        IRewardsDistributor.Claim memory leaf = _leaf(posted.earned, who);
        uint256 cumulative = leaf.cumulative;
        uint256 before = token.balanceOf(earner(who));
        bytes memory call = abi.encodeCall(distributor.claim, (leaf.earner, cumulative, leaf.path));
        if (many) {
            IRewardsDistributor.Claim[] memory claims = new IRewardsDistributor.Claim[](2);
            claims[0] = leaf;
            claims[1] = leaf;
            call = abi.encodeCall(distributor.claimMany, (claims));
        }
        _try(address(this), address(distributor), call);
        // A leaf that an active root shares with the disabled one is not the disabled root's payment.
        uint256 paid = token.balanceOf(earner(who)) - before;
        if (posted.disabled && cumulative > _lastActiveEarned()[who]) paidByDisabledRoots += paid;
    }

    function _exit(address from) private {
        uint256 all = escrow.balanceOf(from);
        uint256 before = token.balanceOf(from);
        _try(from, address(escrow), abi.encodeCall(escrow.exit, ()));
        uint256 paid = token.balanceOf(from) - before;
        withdrawn += paid;
        trapped += all - paid;
    }

    function _withdraw(address from) private {
        uint256 before = token.balanceOf(from);
        _try(from, address(escrow), abi.encodeCall(escrow.withdraw, ()));
        withdrawn += token.balanceOf(from) - before;
    }

    function _try(address sender, address target, bytes memory call) private returns (bool ok) {
        vm.prank(sender);
        (ok,) = target.call(call);
    }

    function _pass(uint256 seconds_) private {
        _now += seconds_;
        vm.warp(_now);
    }

    function _change(uint256 which, uint256 salt) private view returns (Change memory) {
        bytes[5] memory calls = [
            abi.encodeCall(escrow.grantRole, (escrow.SETTLER_ROLE(), THIEF)),
            abi.encodeCall(distributor.grantRole, (distributor.SETTLER_ROLE(), THIEF)),
            abi.encodeCall(escrow.setReleaseCap, (2e30)),
            abi.encodeCall(distributor.setGrowthLimit, (2e30)),
            abi.encodeCall(timelock.updateDelay, (0))
        ];
        address[5] memory targets = [
            address(escrow),
            address(distributor),
            address(escrow),
            address(distributor),
            address(timelock)
        ];
        return Change(targets[which % 5], calls[which % 5], bytes32(salt));
    }

    function _key(Change memory change_) private pure returns (bytes32) {
        return keccak256(abi.encode(change_));
    }

    function _ownerKey(uint256 index) private pure returns (uint256) {
        return 0xf000 + index % OWNERS;
    }

    function _wasActive(uint256 index) private view returns (bool) {
        return !_posted[index].disabled && _posted[index].activeAt <= _now;
    }

    function _activeIndex() private view returns (bool found, uint256 index) {
        for (uint256 i = _posted.length; i > 0; --i) {
            if (_wasActive(i - 1)) return (true, i - 1);
        }
    }

    function _lastActiveEarned() private view returns (uint256[EARNERS] memory earned) {
        (bool found, uint256 index) = _activeIndex();
        if (found) earned = _posted[index].earned;
    }

    function _leaves(uint256[EARNERS] memory earned)
        private
        view
        returns (Tree.Leaf[] memory leaves)
    {
        leaves = new Tree.Leaf[](EARNERS);
        for (uint256 i = 0; i < EARNERS; ++i) {
            leaves[i] = Tree.Leaf(earner(i), earned[i], distributor.leafOf(earner(i), earned[i]));
        }
    }

    function _leaf(uint256[EARNERS] memory earned, uint256 who)
        private
        view
        returns (IRewardsDistributor.Claim memory)
    {
        return IRewardsDistributor.Claim(earner(who), earned[who], Tree.path(_leaves(earned), who));
    }

    function _sum(uint256[EARNERS] memory earned) private pure returns (uint256 sum) {
        for (uint256 i = 0; i < EARNERS; ++i) {
            sum += earned[i];
        }
    }
}
