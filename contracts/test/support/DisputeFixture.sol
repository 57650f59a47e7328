// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {AdminTimelock} from "../../src/AdminTimelock.sol";
import {DisputeGame} from "../../src/DisputeGame.sol";
import {GymToken} from "../../src/GymToken.sol";
import {Stake} from "../../src/Stake.sol";
import {ElementRules} from "../../src/dispute/ElementRules.sol";
import {FaultRules} from "../../src/dispute/FaultRules.sol";
import {OuterProofs} from "../../src/dispute/OuterProofs.sol";
import {OuterRules} from "../../src/dispute/OuterRules.sol";
import {OpeningRules} from "../../src/dispute/OpeningRules.sol";
import {StepRules} from "../../src/dispute/StepRules.sol";
import {TreeRules} from "../../src/dispute/TreeRules.sol";
import {Facts, SlotProof} from "../../src/dispute/DisputeTypes.sol";
import {IDisputeGame} from "../../src/interfaces/IDisputeGame.sol";
import {IStake} from "../../src/interfaces/IStake.sol";
import {BareLog} from "./BareLog.sol";
import {DisputeDelta} from "./DisputeDelta.sol";
import {DisputeProgram} from "./DisputeProgram.sol";
import {DisputeRunner, Fault, StepRun, Wrong} from "./DisputeRunner.sol";
import {DisputeRuns} from "./DisputeRuns.sol";
import {DisputeTrees, Tensor} from "./DisputeTrees.sol";
import {Heads} from "./Heads.sol";
import {OneStepFixture} from "./OneStepFixture.sol";
import {Slots} from "./Slots.sol";

/// What Vm.sol lacks.
interface VmMore {
    function deal(address who, uint256 amount) external;
    function fee(uint256 basefee) external;
    function txGasPrice(uint256 price) external;
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);
    function getNonce(address who) external view returns (uint64);
    function chainId(uint256 id) external;
    function snapshotState() external returns (uint256 id);
    function revertToState(uint256 id) external returns (bool done);
}

/// What is committed to, with fields that a test may forge before it is posted.
struct Posted {
    uint8 kind;
    address worker;
    uint16 codec;
    uint32 steps;
    uint64 tokens;
    uint64 flops;
    bytes32 recordsRoot;
    bytes32 finalStateRoot;
    bytes32 deltaRoot;
    uint32 slot;
}

/// A network of one job with all contracts of a dispute, and units that are posted to it.
abstract contract DisputeFixture is OneStepFixture {
    VmMore internal constant more = VmMore(address(vm));
    uint256 internal constant KEY = 0xa55e;
    address internal constant CHALLENGER = address(0xc4a11e);
    address internal constant OTHER = address(0x07e4);
    bytes32 internal constant JOB = keccak256("job");
    bytes32 internal constant SALT = keccak256("salt");
    uint128 internal constant BOND = 1e18 + 1;
    uint256 internal constant STAKE = 1000e18;
    uint24 internal constant CLOCK = 1 hours;
    uint40 internal constant SETTLING = 3 hours;
    uint32 internal constant ANNOUNCE_BLOCKS = 2;
    uint32 internal constant OPEN_BLOCKS = 50;
    uint256 internal constant WINDOW_BLOCKS = 100;
    uint256 internal constant NOTICE_BLOCKS = 20;
    uint64 internal constant ESCROW_GAS = 4_000_000;
    uint32 internal constant MISSED_PPM = 400_000;
    uint64 internal constant TOKENS_PER_STEP = 6;
    uint64 internal constant FLOPS_PER_STEP = 1e6;

    GymToken internal _token;
    BareLog internal _log;
    Stake internal _stake;
    DisputeGame internal _game;
    DisputeRunner internal _runner;
    DisputeRuns internal _runs;
    OpeningRules internal _opening;
    TreeRules internal _trees;
    StepRules internal _steps;
    FaultRules internal _faults;
    ElementRules internal _elements;
    OuterRules internal _outer;
    OuterProofs internal _outerProofs;
    address internal _asserter;
    uint256 internal _now;
    uint256 internal _block;

    // The unit under dispute.
    bytes internal _commitment;
    bytes internal _record;
    SlotProof internal _slot;
    /// Of the round.
    uint256 internal _slots = 10;
    bytes32[] internal _path;
    uint32 internal _index;
    bytes32 internal _unit;
    Facts internal _facts;
    uint64 internal _epoch = 7;
    /// Of the round's record.
    uint16 internal _format = 3;
    /// The commitment is under the root of the next round's epoch, and opened there.
    bool internal _late;

    function _deployGame() internal {
        _deploy();
        (_now, _block) = (1_000_000, 1000);
        _wait(0, 0);
        _asserter = vm.addr(KEY);
        _token = new GymToken(address(this), 1e30);
        AdminTimelock timelock = new AdminTimelock(0, address(this), address(this));
        _log = new BareLog(timelock, address(this), address(this));
        _runner = new DisputeRunner(_oneStep);
        _runs = new DisputeRuns();
        _runs.keep("right", _runner.run(Fault(Wrong.Nothing, 0, 0, 0)));
        _opening = new OpeningRules(_log, WINDOW_BLOCKS, NOTICE_BLOCKS);
        _trees = new TreeRules();
        _steps = new StepRules();
        _faults = new FaultRules();
        _elements = new ElementRules(_oneStep);
        (_outer, _outerProofs) = (new OuterRules(), new OuterProofs());
        address game = more.computeCreateAddress(address(this), more.getNonce(address(this)) + 1);
        _stake = new Stake(IERC20(address(_token)), game, 1 days, 500_000, 100_000);
        _game = new DisputeGame(_terms(), IStake(address(_stake)), _rules());
        _fund(_asserter);
        _fund(CHALLENGER);
        _fund(OTHER);
        _token.approve(address(_stake), type(uint256).max);
        _stake.stake(_asserter, STAKE);
    }

    function _terms() internal pure returns (IDisputeGame.Terms memory) {
        return IDisputeGame.Terms(
            BOND, CLOCK, SETTLING, ANNOUNCE_BLOCKS, OPEN_BLOCKS, ESCROW_GAS, MISSED_PPM
        );
    }

    function _rules() internal view returns (address[7] memory) {
        return [
            address(_opening),
            address(_trees),
            address(_steps),
            address(_faults),
            address(_elements),
            address(_outer),
            address(_outerProofs)
        ];
    }

    function _fund(address who) internal {
        _token.transfer(who, 1e24);
        vm.prank(who);
        _token.approve(address(_game), type(uint256).max);
        more.deal(who, 1000 ether);
    }

    function _wait(uint256 seconds_, uint256 blocks) internal {
        (_now, _block) = (_now + seconds_, _block + blocks);
        vm.warp(_now);
        vm.roll(_block);
    }

    function _right() internal view returns (StepRun[] memory) {
        return _runs.get("right");
    }

    /// What an honest commitment to a run says.
    function _honest(StepRun[] memory run) internal view returns (Posted memory p) {
        (p.kind, p.worker, p.slot) = (1, _asserter, _runner.SLOT());
        p.steps = _runner.STEPS();
        (p.tokens, p.flops) = (TOKENS_PER_STEP * p.steps, FLOPS_PER_STEP * p.steps);
        p.recordsRoot = DisputeTrees.root(_links(run));
        p.finalStateRoot = _states(run)[run.length - 1];
        p.deltaRoot = DisputeTrees.tensorRoot(_delta(run));
    }

    function _final(StepRun[] memory run) internal pure returns (Tensor[] memory state) {
        StepRun memory last = run[run.length - 1];
        state = new Tensor[](3);
        (state[0], state[1], state[2]) = (last.leaves[3], last.leaves[5], last.before[2]);
    }

    function _delta(StepRun[] memory run) internal pure returns (Tensor memory) {
        return DisputeDelta.make(run[0].before, _final(run));
    }

    /// Posts round and epoch of a unit of this run.
    function _post(StepRun[] memory run) internal {
        _post(_honest(run));
    }

    function _post(Posted memory p) internal {
        _record = _roundRecord();
        _slot = Slots.prove(_workers(), _runner.STEPS(), p.slot);
        bytes32 hash = sha256(abi.encodePacked("gym.round.v1", _record));
        _facts = Facts({
            recordsRoot: p.recordsRoot,
            finalStateRoot: p.finalStateRoot,
            deltaRoot: p.deltaRoot,
            jobSeed: _runner.SEED(),
            traceRoot: DisputeProgram.traceRoot(),
            initialStateRoot: DisputeTrees.root(DisputeTrees.tensorRoots(_runner.initialState())),
            datasetRoot: DisputeTrees.tensorRoot(_runner.dataset()),
            round: _runner.ROUND(),
            slot: p.slot,
            steps: _runner.STEPS(),
            checkpointEvery: _runner.CHECKPOINT_EVERY()
        });
        _unit = keccak256(abi.encode(_digest(p, hash), _asserter));
        _commitment = _signed(p, hash);
        bytes32[] memory leaves = new bytes32[](3);
        for (uint256 i = 0; i < 3; ++i) {
            leaves[i] = _otherLeaf(hash, i);
        }
        // In another epoch it is in another place.
        _index = uint32(_epoch % 3);
        leaves[_index] = sha256(abi.encodePacked("gym.commitment.v1", _commitment));
        _path = DisputeTrees.path(leaves, _index);
        _log.postRound(JOB, _runner.ROUND(), hash);
        uint64 round = _runner.ROUND();
        if (_late) {
            _log.postEpoch(_epoch + 1000, JOB, round, keccak256("in time"), 3);
            _log.postRound(JOB, ++round, keccak256("next"));
        }
        _log.postEpoch(_epoch, JOB, round, DisputeTrees.root(leaves), 3);
    }

    /// Leaf `i` of the epoch, if the unit under dispute is another one.
    function _otherLeaf(bytes32, uint256 i) internal virtual returns (bytes32) {
        return keccak256(abi.encode("another commitment", i));
    }

    function _links(StepRun[] memory run) internal pure returns (bytes32[] memory links) {
        links = new bytes32[](run.length);
        for (uint256 i = 0; i < links.length; ++i) {
            links[i] = run[i].link;
        }
    }

    function _states(StepRun[] memory run) internal pure returns (bytes32[] memory states) {
        states = new bytes32[](run.length);
        for (uint256 i = 0; i < states.length; ++i) {
            states[i] = DisputeTrees.root(run[i].stateAfter);
        }
    }

    function _announce(address who, bytes32 salt) internal returns (bytes32 id) {
        id = _game.announcementOf(who, _unit, salt);
        vm.prank(who);
        _game.announce(id);
    }

    function _open(address who, bytes32 salt) internal returns (bytes32 id) {
        id = _announce(who, salt);
        _wait(0, ANNOUNCE_BLOCKS);
        _openNow(who, salt);
    }

    function _openNow(address who, bytes32 salt) internal {
        vm.prank(who);
        if (_late) {
            _game.openLate{value: 1 ether}(_commitment, _record, _slot, _index, _path, salt);
        } else {
            _game.open{value: 1 ether}(_commitment, _record, _slot, _index, _path, salt);
        }
    }

    /// Workers of the unit's round, by slot.
    function _workers() private view returns (address[] memory workers) {
        workers = new address[](_slots);
        for (uint160 i = 0; i < workers.length; ++i) {
            workers[i] = address(0x1111 + i);
        }
        workers[_runner.SLOT()] = _asserter;
    }

    function _roundRecord() private view returns (bytes memory data) {
        bytes memory roots = abi.encodePacked(
            keccak256("previous"), keccak256("base"), keccak256("momentum"), keccak256("program")
        );
        roots = abi.encodePacked(
            roots,
            keccak256("aggregate"),
            keccak256("evaluate"),
            DisputeTrees.tensorRoot(_runner.dataset()),
            _runner.SEED()
        );
        roots = abi.encodePacked(
            roots,
            DisputeProgram.traceRoot(),
            DisputeTrees.root(DisputeTrees.tensorRoots(_runner.initialState()))
        );
        data = abi.encodePacked(_format, JOB, _runner.ROUND(), roots);
        data = abi.encodePacked(
            data, _runner.CHECKPOINT_EVERY(), TOKENS_PER_STEP, FLOPS_PER_STEP, uint16(0)
        );
        address[] memory workers = _workers();
        data = abi.encodePacked(data, uint32(50_000), uint32(1_000_000), uint32(workers.length));
        data = abi.encodePacked(data, Slots.root(workers, _runner.STEPS()), uint32(0), bytes32(0));
    }

    /// The contract whose signatures the fixture makes.
    function _signedFor() internal view virtual returns (address) {
        return address(_log);
    }

    function _digest(Posted memory p, bytes32 record) internal view returns (bytes32) {
        return _digestOf(p, record, 0);
    }

    function _digestOf(Posted memory p, bytes32 record, uint32 attempt)
        internal
        view
        returns (bytes32)
    {
        bytes32 domain = Heads.domain(_signedFor());
        bytes memory first = abi.encode(
            keccak256(
                "UnitCommitment(uint8 kind,bytes32 roundRecord,uint32 slot,uint32 attempt,bytes32 recordsRoot,bytes32 finalStateRoot,uint16 deltaCodec,bytes32 deltaRoot,uint32 steps,uint64 tokens,uint64 flops)"
            ),
            p.kind,
            record,
            p.slot,
            attempt,
            p.recordsRoot,
            p.finalStateRoot
        );
        bytes memory last = abi.encode(p.codec, p.deltaRoot, p.steps, p.tokens, p.flops);
        bytes32 what = keccak256(abi.encodePacked(first, last));
        return keccak256(abi.encodePacked(hex"1901", domain, what));
    }

    function _signed(Posted memory p, bytes32 record) internal view returns (bytes memory) {
        return _signedBy(p, record, p.worker == _asserter ? KEY : KEY + 1);
    }

    function _signedBy(Posted memory p, bytes32 record, uint256 key)
        internal
        view
        returns (bytes memory)
    {
        return _signedOf(p, record, key, 0);
    }

    function _signedOf(Posted memory p, bytes32 record, uint256 key, uint32 attempt)
        internal
        view
        returns (bytes memory)
    {
        bytes memory head = abi.encodePacked(uint16(1), p.kind, record, p.slot, attempt);
        bytes memory body =
            abi.encodePacked(p.recordsRoot, p.finalStateRoot, p.codec, p.deltaRoot, p.steps);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, _digestOf(p, record, attempt));
        return abi.encodePacked(head, body, p.tokens, p.flops, r, s, v);
    }
}
