#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/protocol/delta_size.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/records/node.hpp"
#include "gym/registry/dataset_parts.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/orders.hpp"
#include "gym/registry/units.hpp"
#include "gym/rewards/claim_proof.hpp"
#include "gym/rewards/credit.hpp"

/// The answers of gym-api (its openapi.json), one type each. Where another module has the record,
/// as for datasets, evaluations, units and credits, that type is used. Amounts that gym-api does
/// not know are absent, never zero.
namespace gym::client {

/// An answer as it was understood, and as it was sent, for `--json`. Control characters were
/// removed from the texts of `json`: they are other people's.
template <class T>
struct Answer {
    T value;
    boost::json::object json;

    const T* operator->() const noexcept { return &value; }
    const T& operator*() const noexcept { return value; }
};
template <class T>
using AnswerList = std::vector<Answer<T>>;

struct Account {
    Address address;
    Amount available;
    Amount escrowed;  ///< in the owner's jobs
    Amount withdrawing;
    Amount pending, earned, payable, claimed;  ///< rewards
    std::vector<rewards::Receipt> last_credits;
};

struct AccountSide {
    std::string owner;  ///< an address, "job:0x...", or "system"
    std::string kind;
    bool own = false;  ///< belongs to the address of the statement
};
/// A line of a statement.
struct Transfer {
    std::string id;  ///< UUID of the ledger transfer
    UnixMs at = 0;
    std::string reason;
    std::string state;      ///< posted, pending, ended or released
    std::string direction;  ///< in, out or within
    bool sealed = false;
    Amount amount;
    AccountSide from, to;
};
struct Statement {
    AnswerList<Transfer> transfers;            ///< newest first
    std::optional<std::uint64_t> next_before;  ///< where older transfers begin; absent: none
};

struct Job {
    Digest id;
    Address owner;
    std::string name;
    registry::JobStatus status = registry::JobStatus::kSubmitted;
    std::string status_reason;   ///< may be empty
    std::string request;         ///< "pause", "cancel"; empty: none is open
    std::string request_reason;  ///< may be empty
    registry::Access access;     ///< to its model; the list is told to its owner alone
    Digest dataset_root;
    Address data_owner;
    std::optional<Digest> init_root;  ///< of the weights that it begins from; absent: random ones
    std::uint64_t rounds = 0;
    std::uint64_t rounds_done = 0;
    std::uint64_t steps_per_round = 0;
    Amount price_wei_per_pflop;
    Amount data_price_wei_per_mtoken;
    std::uint32_t data_quality_ppm = 0;
    Amount budget;
    std::optional<std::uint64_t> flops_per_step;  ///< absent until the job has started
    std::optional<UnixMs> ended_at;
};
struct JobCost {
    Amount spent;
    Amount reserved;                  ///< for units that are not final
    std::optional<Amount> committed;  ///< what units under way may still cost, if known
    Amount left;                      ///< in the job's escrow, without what is reserved
    Amount refunded;
};
struct JobRound {
    std::uint64_t round = 0;
    std::optional<double> validation_loss;
    std::optional<std::uint64_t> commitment_count;
    /// Of the unit that stands for the loss; empty: there is none.
    std::string validation_state;
    bool validation_verified = false;  ///< a verifier found the same loss
};
struct JobDetail : Job {
    std::string waiting_for;  ///< one sentence; may be empty
    // Absent until the job has started.
    std::optional<std::uint64_t> tokens_planned;  ///< with a worker in every slot
    std::optional<std::uint64_t> tokens_trained;  ///< in the rounds that are done
    JobCost cost;
    AnswerList<JobRound> round_list;
    std::vector<std::pair<std::string, std::uint64_t>> units;  ///< by state
    AnswerList<registry::Unit> faults;
    /// Of a job on a mix, in the mix's order, without their weights; else empty.
    std::vector<registry::JobDataPart> data_parts;
    std::vector<registry::StoredOrder> orders;  ///< that its owner signed, as they came
};

/// A mix that gym-api makes; ask again until it is made.
struct Mix {
    std::string state;                         ///< waiting, mixing or made
    std::optional<registry::Dataset> dataset;  ///< once it is made
};

/// Something that a job's owner may download.
struct ModelBlob {
    Digest root;  ///< as round records and chain name it
    Digest blob;  ///< of the bytes themselves
    std::uint64_t bytes = 0;
};
struct ModelData {
    Digest root;
    std::string name;
    std::string licence;
    std::uint32_t vocabulary = 0;
    std::optional<Digest> tokenizer;         ///< root; absent: a token is a byte, or nobody said
    std::optional<Address> tokenizer_owner;  ///< who wrote its files; absent: nobody, or not known
};
struct ModelLoss {
    std::uint64_t round = 0;
    double validation_loss = 0;  ///< nats per token
};
/// A job's model after one of its rounds.
struct JobModel {
    Digest job;
    Address owner;
    std::string name;
    std::uint64_t round = 0;  ///< 0: before any training
    std::uint64_t newest_round = 0;
    std::uint64_t rounds = 0;  ///< of the whole job
    ModelBlob program;
    ModelBlob state;
    std::vector<ModelData> datasets;
    std::vector<ModelLoss> losses;     ///< of the rounds up to this one
    std::vector<std::string> mirrors;  ///< of the network, of a public model
};

struct BillItem {
    rewards::CreditKind kind = rewards::CreditKind::kCompute;
    std::uint64_t credits = 0;
    Amount posted, pending, unfunded;
};
struct JobBill {
    Amount spent;
    std::vector<BillItem> kinds;
};

/// A blob that its owner sends in parts.
struct Upload {
    Digest root;
    std::uint64_t size_bytes = 0;
    std::uint64_t received_bytes = 0;
    bool complete = false;             ///< gym-api has all bytes and found their root
    std::optional<Digest> state_root;  ///< of a complete blob that is a state
};

/// The network's fee on top of the cost of a job's work.
struct FeeRates {
    std::uint32_t fee_ppm = 0;
    std::uint32_t burned_ppm = 0;  ///< of the fee
};
struct NetworkFee {
    FeeRates rates;
    std::optional<protocol::CostRates> bound;  ///< absent: the services have not published theirs
    // Absent where gym-rewards has not published them.
    std::optional<std::uint32_t> verification_premium_ppm = {};
    std::optional<std::uint32_t> uptime_bonus_max_ppm = {};
    std::optional<protocol::SizeLimits> sizes = {};  ///< absent: the coordinator has not published
    /// The same: from a draw until a fault can no longer be taken to the chain.
    std::optional<std::int64_t> dispute_window_ms = {};
};

/// What the newest jobs pay.
struct Market {
    std::uint64_t jobs = 0;
    std::optional<Amount> wei_per_pflop;  ///< the median; absent without jobs
    struct Paid {
        std::optional<Digest> job;  ///< absent: it is not public
        Amount wei_per_pflop;
    };
    std::optional<Paid> paid = {};  ///< the median by what was trained; absent: nothing was
    // Of all jobs that run and have rounds left to train.
    std::uint64_t running_jobs = 0;
    std::uint64_t running_slots = 0;
    Amount least_wei_per_pflop = {};  ///< a job that pays less is refused; zero: any price is taken
};

/// A registered node.
struct Node {
    Address address;
    records::NodeRole role = records::NodeRole::kWorker;
    std::string device;                  ///< may be empty
    std::uint64_t memory_bytes = 0;      ///< 0: unknown
    std::uint64_t flops_per_second = 0;  ///< as it measured itself
    Amount valid_value = {};             ///< protocol::work_value() of its valid units
    bool live = false;
    bool excluded = false;
};

/// The network as gym-api describes it. The members are texts: they are compared, and shown where
/// they differ.
struct Network {
    std::string chain_id;
    /// Name and address of each contract that gym-api knows.
    std::vector<std::pair<std::string, std::string>> contracts;

    /// Null if gym-api does not name the contract.
    [[nodiscard]] const std::string* find(std::string_view contract) const;
};

struct ClaimProof {
    Address earner;
    rewards::ClaimProof proof;
    std::uint64_t chain_id = 0;
    Address distributor;
};

struct UnitReport {
    Address verifier;
    bool accepted = false;
};

/// A round without its commitments, which have a list of their own.
struct PublishedRound {
    Bytes record;
    std::optional<Bytes> aggregate, evaluation;
    std::optional<std::uint64_t> beacon_block;  ///< whose prevrandao draws the sample
    std::optional<std::uint64_t> drand_round;   ///< or the randomness of this round of drand
};

}  // namespace gym::client
