#include <map>

#include "bindings.hpp"
#include "gym/common/printable.hpp"
#include "gym/contracts/call.hpp"

namespace gym::contracts {
namespace {

constexpr std::size_t kTextShown = 300;
constexpr std::size_t kHexShown = 68;  // of unknown data: the selector and two words

constexpr const char* kKnownErrors[] = {
    // Solidity's own
    "Error(string reason)",
    "Panic(uint256 code)",
    // GymToken
    "ECDSAInvalidSignature()",
    "ECDSAInvalidSignatureLength(uint256 length)",
    "ECDSAInvalidSignatureS(bytes32 s)",
    "ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)",
    "ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
    "ERC20InvalidApprover(address approver)",
    "ERC20InvalidReceiver(address receiver)",
    "ERC20InvalidSender(address sender)",
    "ERC20InvalidSpender(address spender)",
    "ERC2612ExpiredSignature(uint256 deadline)",
    "ERC2612InvalidSigner(address signer, address owner)",
    "InvalidAccountNonce(address account, uint256 currentNonce)",
    "InvalidShortString()",
    "StringTooLong(string str)",
    // access control, pausing and safe transfers of all three others
    "AccessControlBadConfirmation()",
    "AccessControlUnauthorizedAccount(address account, bytes32 neededRole)",
    "AdminIsFixed()",
    "DelayTooShort(uint256 delay, uint256 least)",
    "EnforcedPause()",
    "ExpectedPause()",
    "ReentrancyGuardReentrantCall()",
    "SafeCastOverflowedUintDowncast(uint8 bits, uint256 value)",
    "SafeERC20FailedOperation(address token)",
    "ZeroAddress()",
    "DelayTooLong(uint64 delay, uint64 max)",
    // AdminTimelock
    "DelayIsFixed()",
    "DelayTooLong(uint256 delay, uint256 max)",
    "TimelockInsufficientDelay(uint256 delay, uint256 minDelay)",
    "TimelockInvalidOperationLength(uint256 targets, uint256 payloads, uint256 values)",
    "TimelockUnauthorizedCaller(address caller)",
    "TimelockUnexecutedPredecessor(bytes32 predecessorId)",
    "TimelockUnexpectedOperationState(bytes32 operationId, bytes32 expectedStates)",
    // JobEscrow
    "AlreadyReleased(uint64 epoch, address owner)",
    "BadListLength(uint256 owners, uint256 amounts)",
    "EpochClosed(uint64 epoch, uint64 current)",
    "EpochTooEarly(uint64 epoch, uint64 earliest)",
    "InsufficientBalance(address owner, uint256 free, uint256 amount)",
    "InsufficientLock(address owner, uint256 locked, uint256 amount)",
    "OrderExpired(uint64 expiry)",
    "NotSigned(address owner, address signer)",
    "AlreadyLocked(address owner, bytes32 nonce)",
    "ECDSAInvalidSignature()",
    "ECDSAInvalidSignatureLength(uint256 length)",
    "ECDSAInvalidSignatureS(bytes32 s)",
    "LeavingAlready(uint64 availableAt)",
    "NoWithdrawal(address owner)",
    "NotLeaving(address owner)",
    "OwnerReleaseCapExceeded(uint64 epoch, address owner, uint256 amount, uint256 cap)",
    "ReleaseCapExceeded(uint64 epoch, uint256 released, uint256 cap)",
    "TransferAmountMismatch(uint256 expected, uint256 received)",
    "WithdrawalNotReady(uint64 availableAt)",
    "ZeroAmount()",
    // DrandBeacon
    "BadPublicKey()",
    "BadSchedule()",
    "NotASignature()",
    "PrecompileMissing(address precompile)",
    "WrongSignature(uint64 round)",
    // CommitmentLog
    "AggregateExists(bytes32 jobId, uint64 round, bytes32 unit)",
    "BadOrigin(uint256 length)",
    "EpochExists(uint64 epoch)",
    "NotACoordinator(address signer)",
    "NotOfTheRound(bytes32 roundRecord)",
    "NotTheAggregate(bytes32 roundRecord)",
    "NotTheRecordBefore(bytes32 named, bytes32 posted)",
    "RoundClosed(bytes32 jobId, uint64 round, uint64 epoch)",
    "RoundExists(bytes32 jobId, uint64 round)",
    "RoundUnknown(bytes32 jobId, uint64 round)",
    "RoundZero()",
    "TooManyCommitments(uint256 count)",
    "WrongBase()",
    "WrongDeltas(uint256 count)",
    "ZeroRoot()",
    // RewardsDistributor
    "BadRecipient(address recipient)",
    "ClaimsArePaused(uint64 until)",
    "ClaimsExceedTotal(uint256 claimed, uint256 total)",
    "ClaimsNotPaused()",
    "ClaimsWerePaused(uint256 earliest)",
    "DemandTooLate(uint64 latest)",
    "DemandedBefore(uint64 epoch, address earner)",
    "EpochNotIncreasing(uint64 epoch, uint64 last)",
    "FailedCall()",
    "GrowthLimitExceeded(uint256 growth, uint256 limit)",
    "InsufficientBalance(uint256 balance, uint256 needed)",
    "InvalidProof(address earner, uint256 cumulative)",
    "NoActiveRoot()",
    "NotDemanded(uint64 epoch, address earner)",
    "NotFallen(address earner, uint256 active, uint256 pending)",
    "NotPending(uint64 epoch)",
    "NothingToClaim(address earner, uint256 claimed)",
    "PauseTooSoon(uint64 earliest)",
    "RootPending(uint64 epoch, uint64 activeAt)",
    "TooLong(uint256 length)",
    "WrongBond(uint256 sent, uint256 bond)",
    "TotalDecreased(uint256 total, uint256 active)",
    "TotalNotFunded(uint256 total, uint256 funded)",
    // Stake
    "PeriodTooLong(uint64 period, uint64 max)",
    "BadShares(uint32 burnedPpm, uint32 compensationPpm)",
    "InsufficientStake(address owner, uint256 active, uint256 amount)",
    "TooManyThaws(uint256 max)",
    "NothingThawed(address owner)",
    "StakeLocked(address owner, uint256 locks)",
    "NotTheGame(address caller)",
    "NotLocked(address owner)",
    "NotTheStaker(address owner, address caller)",
    "NothingDue(uint256 number)",
    // DisputeGame
    "BadTerms()",
    "AlreadyAnnounced(bytes32 announcement)",
    "NotAnnounced(bytes32 announcement)",
    "WrongBlock(uint256 from, uint256 to)",
    "TooEarly(uint256 from)",
    "EscrowTooSmall(uint256 given, uint256 needed)",
    "NotYourTurn(bytes32 game)",
    "WrongCursor(bytes32 given, bytes32 position)",
    "ClockRanOut(bytes32 game)",
    "ClockRuns(bytes32 game, uint256 left)",
    "NotFaulty(bytes32 unit)",
    "AlreadySettled(bytes32 unit)",
    "NotOpen(bytes32 game)",
    "NoEther(address owner)",
    "TooMuchData(uint256 length)",
    // its rules
    "TakesNoLate()",
    "SubtractsNone()",
    "WrongStage(uint8 stage)",
    "WrongFrame()",
    "ZeroDigest()",
    "Malformed(uint256 offset)",
    "BadRecord(uint256 field)",
    "NoFault()",
    "NotPosted()",
    "InNoTree()",
    "NotAboutReports()",
    "NotAWorkersUnit(uint256 slot)",
    "NotPublishedInTime(uint256 publishedAt, uint256 epochBlock)",
    "NotWanted(uint256 what)",
    "NotTheNextRecord()",
    "NotTheSameUnit()",
    "NodeOutside(uint256 index, uint256 height)",
    "LeafOutside(uint256 index, uint256 count)",
    "BadProofLength(uint256 length, uint256 expected)",
    "RootMismatch(bytes32 computed, bytes32 expected)",
    "BadChunk(uint256 length)",
    "WrongChunks(uint256 operand, uint256 count, uint256 expected)",
    "ElementOutside(uint256 element)",
    // OneStep
    "NoContract(address family)",
    "UnknownOpcode(uint256 opcode)",
    "WrongArity(uint256 inputs)",
    "BadAttribute(uint256 index)",
    "BadDtype(uint256 tensor)",
    "BadShape(uint256 tensor)",
    "ElementOutOfRange(uint256 element, uint256 count)",
    "NoSuchOperand(uint256 operand)",
    "WrongInputCount(uint256 inputs, uint256 expected)",
    "WrongInputLength(uint256 operand, uint256 length, uint256 expected)",
};

using Selector = std::array<std::uint8_t, 4>;

const std::map<Selector, Declaration>& errors_by_selector() {
    static const auto* const errors = [] {
        auto* made = new std::map<Selector, Declaration>();  // lives as long as the process
        for (const std::string& text : known_errors()) {
            const Declaration error = Declaration::of(text);
            made->emplace(error.signature.selector(), error);
        }
        return made;
    }();
    return *errors;
}

/// Solidity's reasons for Panic(uint256).
std::string panic_text(const chain::AbiValue& code) {
    const std::uint64_t value = code.u64().value_or(0);
    switch (value) {
        case 0x01:
            return "assertion failed";
        case 0x11:
            return "arithmetic overflow";
        case 0x12:
            return "division by zero";
        case 0x32:
            return "array index out of bounds";
        case 0x41:
            return "out of memory";
        default:
            return "panic " + code.to_string();
    }
}

}  // namespace

const std::vector<std::string>& known_errors() {
    static const auto* const errors =
        new std::vector<std::string>(std::begin(kKnownErrors), std::end(kKnownErrors));
    return *errors;
}

std::string describe_revert(ByteView revert_data) {
    if (revert_data.empty()) return "reverted without a reason";
    std::string raw = "reverted with " + printable_ascii(to_hex0x(revert_data), 2 + 2 * kHexShown);
    if (revert_data.size() < 4) return raw;
    const Selector selector{revert_data[0], revert_data[1], revert_data[2], revert_data[3]};
    const auto found = errors_by_selector().find(selector);
    if (found == errors_by_selector().end()) return raw;
    const Declaration& error = found->second;
    const auto values = chain::abi_decode(error.signature.inputs, revert_data.subspan(4));
    if (!values.ok()) return raw;
    if (error.signature.name == "Error")
        return printable_ascii((*values)[0].text().value_or(""), kTextShown);
    if (error.signature.name == "Panic") return panic_text((*values)[0]);
    std::string out = error.signature.name + "(";
    for (std::size_t i = 0; i < values->size(); ++i)
        out += (i == 0 ? "" : ", ") + error.names[i] + "=" + (*values)[i].to_string();
    return printable_ascii(out + ")", kTextShown);
}

}  // namespace gym::contracts
