// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.35;

import {Cursor, SlotProof} from "../dispute/DisputeTypes.sol";
import {IDisputeMoves} from "../dispute/IDisputeMoves.sol";

/// @title Disputes about units of training and aggregation
/// @notice A challenger and the asserter of a unit descend from the commitment to one tensor element, which a contract computes
/// (docs/adr/0003-dispute-descent.md, docs/adr/0004-dispute-game.md). Nobody has a role, nothing can be paused or changed. A game is
/// the hash of a cursor, two clocks and some money; every move brings the cursor, and the logs hold every move.
interface IDisputeGame is IDisputeMoves {
    /// @notice The side that must act, or the end of a game.
    enum Status {
        None,
        AsserterMoves,
        ChallengerMoves,
        Upheld,
        FaultProven,
        FaultByClock,
        Moot
    }

    /// @notice The fixed terms.
    /// @param bond In base units, taken at announce(). @param clock Seconds of each side for a whole game.
    /// @param settling Seconds after the first proof in which earlier announcements can still prove; at least two clocks.
    /// @param announceBlocks Least blocks from announce() to open(). @param openBlocks Blocks after these in which it must come.
    /// @param escrowGas Gas that the opener pays in advance, at twice the base fee of open().
    /// @param missedPpm Share of its stake, in parts per million, that an asserter loses by the first clocks that run out.
    struct Terms {
        uint128 bond;
        uint24 clock;
        uint40 settling;
        uint32 announceBlocks;
        uint32 openBlocks;
        uint64 escrowGas;
        uint32 missedPpm;
    }

    /// @notice A game. @param unit Its unit. @param position keccak256 of the cursor. @param challenger Its opener.
    /// @param since Start of the current turn. @param challengerClock Seconds left at `since`. @param asserterClock Same.
    /// @param status Whose turn it is, or how it ended. @param stage Of the last cursor that a move led to. @param height Of the same.
    /// @param order Of its announcement. @param moves So far. @param escrow Wei left for the asserter's gas.
    /// @param asserterGas Gas of the asserter's moves so far, about. @param challengerGas The same.
    struct Game {
        bytes32 unit;
        bytes32 position;
        address challenger;
        uint40 since;
        uint24 challengerClock;
        uint24 asserterClock;
        Status status;
        uint48 order;
        uint8 stage;
        uint8 height;
        uint16 moves;
        uint96 escrow;
        uint32 asserterGas;
        uint32 challengerGas;
    }

    /// @notice A unit with games. @param asserter Its signer. @param provenAt Time of the first proven fault, 0 if none.
    /// @param games Open ones. @param locked Whether they lock the asserter's stake. @param settled Whether it was slashed.
    /// @param finder Sender of the earliest announcement among proven faults. @param order Of that announcement.
    /// @param lastOrder Of the last announcement before the first proof: later games are no provers'.
    /// @param byClock Whether its asserter only missed clocks: no game has shown what is wrong with the unit.
    struct Unit {
        address asserter;
        uint40 provenAt;
        uint32 games;
        bool locked;
        bool settled;
        bool byClock;
        address finder;
        uint48 order;
        uint48 lastOrder;
    }

    /// @notice `announcement` hides what `sender` will open.
    event Announced(bytes32 indexed announcement, address indexed sender, uint256 order);
    /// @notice The bond of an announcement that was not opened went back, or was burned.
    event AnnouncementEnded(bytes32 indexed announcement, bool returned);
    /// @notice A game began. @param data The call's.
    event Opened(
        bytes32 indexed game,
        bytes32 indexed unit,
        address indexed asserter,
        address challenger,
        Cursor cursor,
        bytes data
    );
    /// @notice A side moved. @param next Where the move leads. @param position Where the game is: further on than `next` if that was
    /// answered in another game of the unit. @param data The call's: with it every tree can be rebuilt.
    event Moved(
        bytes32 indexed game,
        bytes32 indexed unit,
        bool byAsserter,
        Cursor next,
        bytes32 position,
        bytes data
    );
    /// @notice A challenger proved that a number is wrong. @param move Selector of the move.
    /// @param element Of the tensor, or which leaf, slot or field. @param claimed By the asserter. @param computed By the contract.
    event FaultFound(
        bytes32 indexed game,
        bytes32 indexed unit,
        bytes4 move,
        uint256 element,
        bytes32 claimed,
        bytes32 computed
    );
    /// @notice A game ended. @param burned Base units of the bond. @param toAsserter Base units of the bond.
    event GameEnded(
        bytes32 indexed game,
        bytes32 indexed unit,
        Status status,
        uint256 burned,
        uint256 toAsserter
    );
    /// @notice A fault of the unit is known, or an earlier announcement proved one, too.
    event UnitFaulty(bytes32 indexed unit, address indexed asserter, address finder, uint256 order);
    /// @notice The asserter lost its stake for the unit.
    event UnitSettled(
        bytes32 indexed unit, address indexed asserter, address indexed finder, uint256 taken
    );
    /// @notice Gas of an answer was paid to its sender: the asserter or its defender (Stake.setDefender). @param amount Wei.
    event GasPaid(bytes32 indexed game, address indexed sender, uint256 amount);
    /// @notice `owner` took its ether out.
    event EtherWithdrawn(address indexed owner, uint256 amount);

    /// @notice Terms that the constructor refuses.
    error BadTerms();
    /// @notice The announcement is there already, or was.
    error AlreadyAnnounced(bytes32 announcement);
    /// @notice The caller has announced nothing of this kind.
    error NotAnnounced(bytes32 announcement);
    /// @notice Too early or too late for this. @param from First and @param to last block that is not.
    error WrongBlock(uint256 from, uint256 to);
    /// @notice Too early. @param from Unix seconds.
    error TooEarly(uint256 from);
    /// @notice Less ether than the asserter's gas may cost.
    error EscrowTooSmall(uint256 given, uint256 needed);
    /// @notice It is not the caller's turn, or the game is over.
    error NotYourTurn(bytes32 game);
    /// @notice The cursor is not where the game is.
    error WrongCursor(bytes32 given, bytes32 position);
    /// @notice The mover's clock ran out.
    error ClockRanOut(bytes32 game);
    /// @notice The clock of the side to move still runs. @param left Seconds.
    error ClockRuns(bytes32 game, uint256 left);
    /// @notice The unit is not known to be faulty.
    error NotFaulty(bytes32 unit);
    /// @notice The unit was settled before.
    error AlreadySettled(bytes32 unit);
    /// @notice The game is over, or never was.
    error NotOpen(bytes32 game);
    /// @notice The token took a fee.
    error TransferAmountMismatch(uint256 expected, uint256 received);
    /// @notice There is nothing to take out, or it cannot be sent.
    error NoEther(address owner);
    /// @notice More calldata than such a call needs; all players have to read the logs.
    error TooMuchData(uint256 length);

    // --- beginning and end ---

    /// @notice Takes the bond for a game that is opened later, without saying which.
    /// @param announcement announcementOf(sender, unit, salt).
    function announce(bytes32 announcement) external;

    /// @notice Opens the game that the caller announced as (unit, salt), whose id is the announcement. If the commitment contradicts
    /// its round record, the game is won at once: fields 0 kind, 1 worker, 2 codec, 3 steps, 4 tokens, 5 FLOPs, 6 a zero root.
    /// An aggregate (slot 0xFFFFFFFF) is in no epoch: its signature is the claim, whoever signed. It has no fields 1 and 5.
    /// The ether pays the asserter's gas; the rest is returned.
    /// @param commitment The signed commitment's 226 bytes. @param record The bytes of the round record's head.
    /// @param slot What the record fixes for the commitment's slot; empty if it has no such slot, and of an aggregate.
    /// @param index Of the commitment in its epoch; 0 of an aggregate. @param path From it to the epoch's root; empty of an aggregate.
    /// @param salt Of the announcement.
    function open(
        bytes calldata commitment,
        bytes calldata record,
        SlotProof calldata slot,
        uint32 index,
        bytes32[] calldata path,
        bytes32 salt
    ) external payable;

    /// @notice The same of a late commitment: one to a worker's unit of a round whose record is of format 4, under the root of the
    /// next round's epoch. The window is that epoch's.
    /// @param commitment As of open(). @param record That the commitment names, not the next round's. @param slot Its terms there.
    /// @param index Of the commitment in the next round's epoch. @param path From it to that root. @param salt Of the announcement.
    function openLate(
        bytes calldata commitment,
        bytes calldata record,
        SlotProof calldata slot,
        uint32 index,
        bytes32[] calldata path,
        bytes32 salt
    ) external payable;

    /// @notice Opens a game that is won at once: `other` contradicts the commitment. It is as announced and paid for as by open();
    /// the window ends only once the round has an epoch (field 7, and two commitments to a round of format 4: the next round).
    /// @param commitment The signed commitment's 226 bytes. @param record Head of its round record, posted.
    /// @param other Another commitment of the same signer for the same unit: field 8, and the unit is the one with the lower EIP-712
    /// digest. Or the head of the next round record, posted, whose base or momentum is not this aggregate's: field 7.
    /// @param salt Of the announcement.
    function openConflict(
        bytes calldata commitment,
        bytes calldata record,
        bytes calldata other,
        bytes32 salt
    ) external payable;

    /// @notice Opens a game about data that somebody stands for and does not give. Its asserter shows it (showWithheld) or loses the game
    /// on its clock; there is nothing to prove about what it has shown. It is announced and paid for as by open(), and named
    /// keccak256(abi.encode(DataRequest's hash, asserter)).
    /// @param request What is asked for (Wanted, 1 byte), number of the tensor (4), number of the chunk (8); and of a commitment or a
    /// delta the signed commitment's 226 bytes. A commitment has no numbers: it was published (CommitmentLog.postCommitment) in time and is
    /// what its round fixes; the asserter is the coordinator that posted the epoch. It is also that of what a round begins with and trains
    /// on. A delta's is its worker.
    /// @param record The bytes of the head of the round's record. Of a state or dataset its round has an epoch.
    /// @param slot Of a commitment, as in open(); else empty.
    /// @param index Of the commitment in the epoch; 0 but of a delta. @param path From it to the epoch's root; empty but of a delta.
    /// @param salt Of the announcement.
    function openWithheld(
        bytes calldata request,
        bytes calldata record,
        SlotProof calldata slot,
        uint32 index,
        bytes32[] calldata path,
        bytes32 salt
    ) external payable;

    /// @notice The bond of an announcement of the caller whose unit turned out faulty before it was opened.
    function reclaim(bytes32 unit, bytes32 salt) external;

    /// @notice Burns the bond of an announcement that can no longer be opened.
    function forfeit(bytes32 announcement) external;

    /// @notice Ends a game in which the clock of the side to move ran out.
    function timeout(bytes32 game) external;

    /// @notice Ends a game about a unit whose fault is proven; the challenger has everything back.
    function close(bytes32 game) external;

    /// @notice After the settling period of a faulty unit, once: takes the asserter's whole stake if a game has shown what is wrong. If
    /// the asserter only missed its clock, this costs `missedPpm` of the stake the first time, nothing more for units whose clocks
    /// ran out within a settling period after that, and all of it later. Stake.compensate() pays the provers of other games about
    /// the asserter's units.
    function settle(bytes32 unit) external;

    /// @notice Sends the caller its ether.
    function withdrawEther() external returns (uint256 amount);

    // --- views ---

    /// @notice The argument of announce(): bound to chain, contract and sender.
    function announcementOf(address sender, bytes32 unit, bytes32 salt)
        external
        view
        returns (bytes32);

    /// @notice When an announcement came. Zeros if it is unknown or gone.
    function announced(bytes32 announcement)
        external
        view
        returns (uint256 order, uint256 blockNumber);

    /// @notice A game; all zero if there is none.
    function gameOf(bytes32 game) external view returns (Game memory);

    /// @notice Seconds that both sides have left now.
    function clocksOf(bytes32 game) external view returns (uint256 challenger, uint256 asserter);

    /// @notice A unit; all zero if it never had a game.
    function unitOf(bytes32 unit) external view returns (Unit memory);

    /// @notice Result of the asserter's answer at a cursor. @param cursor Its keccak256. @return keccak256 of the next cursor, or 0.
    function answerTo(bytes32 unit, bytes32 cursor) external view returns (bytes32);

    /// @notice Wei that `owner` can withdraw.
    function etherOf(address owner) external view returns (uint256);

    /// @notice The terms.
    function terms() external view returns (Terms memory);

    /// @notice The contracts that it relies on.
    function contracts()
        external
        view
        returns (
            address token,
            address stake,
            address opening,
            address trees,
            address steps,
            address faults,
            address elements,
            address outer,
            address outerProofs
        );
}
