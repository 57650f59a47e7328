#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "cli/cli_context.hpp"
#include "cli/database_options.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "gym/common/file.hpp"
#include "gym/ledger/proof.hpp"
#include "gym/ledger/verify.hpp"
#include "gym/rewards/epoch_file.hpp"
#include "gym/rewards/order_check.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kProgressEvery{2};
constexpr std::uint64_t kProofBytesMax = 64 << 10;
constexpr std::size_t kProblemsShown = 10;

struct LedgerOptions {
    DatabaseOptions database;
    ApiOptions api;
    std::vector<std::string> signers;
    std::vector<std::string> epoch_files;
    std::string proof;
    std::string id;
    bool no_views = false;

    [[nodiscard]] Result<std::vector<Address>> signer_addresses() const {
        std::vector<Address> out;
        for (const std::string& text : signers) {
            GYM_TRY(const auto address, address_option("--signer", text));
            if (!address)  // as if it were not there, any signer would do
                return fail(ErrorCode::kInvalidArgument, "--signer: an address is expected");
            out.push_back(*address);
        }
        return out;
    }
};

Result<std::string> read_text(const std::string& path, std::uint64_t size_bytes_max) {
    GYM_TRY(const Bytes bytes, read_file(path, size_bytes_max));
    return std::string(bytes.begin(), bytes.end());
}

/// Heads of the chain of seals in the published files.
Result<std::vector<ledger::SealHead>> published_heads(const std::vector<std::string>& files) {
    constexpr std::uint64_t kEpochFileBytesMax = std::uint64_t{1} << 30;
    std::vector<ledger::SealHead> heads;
    for (const std::string& path : files) {
        GYM_TRY(const std::string text, read_text(path, kEpochFileBytesMax));
        const auto file = rewards::parse_epoch_file(text);
        if (!file.ok()) return file.error().in(path);
        if (file->ledger_seal) heads.push_back(*file->ledger_seal);
    }
    return heads;
}

/// A line on standard error every other second.
auto progress_printer() {
    return [last = std::chrono::steady_clock::now()](const ledger::VerifyProgress& at) mutable {
        const auto now = std::chrono::steady_clock::now();
        if (now - last < kProgressEvery) return;
        last = now;
        std::fprintf(stderr, "gym: %llu transfers, %.0f %%\n",
                     static_cast<unsigned long long>(at.transfers),
                     100.0 * static_cast<double>(at.seq) / static_cast<double>(at.seq_max));
    };
}

void print(const CliContext& context, const ledger::VerifyReport& report, std::uint64_t orders) {
    if (context.json) {
        json::array problems;
        for (const ledger::Problem& problem : report.problems)
            problems.push_back(json::object{{"row", problem.row},
                                            {"what", problem.what},
                                            {"expected", problem.expected},
                                            {"found", problem.found}});
        context.print_json({{"accounts", report.accounts},
                            {"transfers", report.transfers},
                            {"entries", report.entries},
                            {"seals", report.seals},
                            {"unsealed", report.unsealed},
                            {"orders", orders},
                            {"problems", std::move(problems)}});
        return;
    }
    const auto line = [](const char* what, std::uint64_t count) { print_row(what, "{}", count); };
    line("accounts", report.accounts);
    line("transfers", report.transfers);
    line("entries", report.entries);
    line("seals", report.seals);
    line("not sealed yet", report.unsealed);
    line("signed orders", orders);
    if (report.problems.empty())
        print_row("verdict",
                  "every balance, entry and seal follows from the transfers, every locked sum from "
                  "its owner's signature");
    // One wrong --signer alone makes every seal a problem.
    const std::size_t shown = std::min(report.problems.size(), kProblemsShown);
    for (std::size_t i = 0; i < shown; ++i)
        print_row("problem", "{}", to_string(report.problems[i]));
    if (shown < report.problems.size())
        print_row("", "and {} more (all with --json)", report.problems.size() - shown);
}

Status verify_ledger(const CliContext& context, const LedgerOptions& options) {
    ledger::VerifyOptions how;
    how.views = !options.no_views;
    how.progress = progress_printer();
    GYM_TRY(how.signers, options.signer_addresses());
    GYM_TRY(how.heads, published_heads(options.epoch_files));
    GYM_TRY(const auto database, options.database.open("gym-ledger-verify"));
    GYM_TRY(ledger::VerifyReport report, ledger::verify(*database, how));
    GYM_TRY(const rewards::LockedOrders orders, rewards::verify_locked_orders(*database));
    report.problems.insert(report.problems.end(), orders.problems.begin(), orders.problems.end());
    print(context, report, orders.count);
    if (report.problems.empty()) return {};
    return fail(ErrorCode::kMismatch,
                std::to_string(report.problems.size()) +
                    " problem(s); the first: " + to_string(report.problems.front()));
}

/// Says why a transfer's proof is not a receipt, as it moves nothing; empty if it moves its amount.
std::string_view what_moved(ledger::TransferKind kind) {
    switch (kind) {
        case ledger::TransferKind::kTransfer:
        case ledger::TransferKind::kPost:
            break;
        case ledger::TransferKind::kPending:
            return "reserves its amount but pays nothing yet: it can still be cancelled";
        case ledger::TransferKind::kVoid:
        case ledger::TransferKind::kExpire:
            return "cancels a reservation, pays nothing";
    }
    return {};
}

/// Needs only the file and the addresses that are trusted to sign.
Status verify_proof(const CliContext& context, const LedgerOptions& options) {
    GYM_TRY(const auto signers, options.signer_addresses());
    GYM_TRY(const std::string text, read_text(options.proof, kProofBytesMax));
    const auto read = ledger::parse_proof(text);
    if (!read.ok()) return read.error().in(options.proof);
    const ledger::TransferProof& proof = *read;
    GYM_CHECK(ledger::check_proof(proof));
    const ledger::SealRecord& seal = proof.seal.record;
    if (!signers.empty() && std::find(signers.begin(), signers.end(), seal.signer) == signers.end())
        return fail(ErrorCode::kMismatch, "the seal is signed by " + seal.signer.hex());
    const ledger::SealedTransfer& transfer = proof.transfer;
    if (context.json) {
        context.print_json({{"transfer", to_uuid(transfer.id)},
                            {"kind", to_string(transfer.kind)},
                            {"amount_wei", transfer.amount.to_string()},
                            {"asset", proof.debit.asset},
                            {"debit", proof.debit.owner},
                            {"credit", proof.credit.owner},
                            {"seal", seal.number},
                            {"signer", seal.signer.hex()},
                            {"signer_checked", !signers.empty()}});
        return {};
    }
    const auto kind = [](const ledger::AccountKey& key) {
        return std::string(to_string(key.kind));
    };
    print_row("transfer", "{}, {}", to_uuid(transfer.id), to_string(transfer.kind));
    if (const std::string_view moved = what_moved(transfer.kind); !moved.empty())
        print_row("", "{}", moved);
    print_row("amount", "{} GYM of {}", transfer.amount.to_tokens(), proof.debit.asset);
    print_row("from", "{} of {}", kind(proof.debit), proof.debit.owner);
    print_row("to", "{} of {}", kind(proof.credit), proof.credit.owner);
    print_row("sealed", "{}, seal {}", utc_text(seal.sealed_at), seal.number);
    print_row("signed by", "{}{}", crypto::to_checksum(seal.signer),
              signers.empty() ? " (NOT CHECKED: compare it with the network's settler, or pass "
                                "the settler as --signer)"
                              : "");
    return {};
}

Result<ledger::TransferProof> proof_of_database(const DatabaseOptions& options,
                                                const ledger::TransferId& id) {
    GYM_TRY(const auto database, options.open("gym-ledger-prove"));
    return database->transact(
        [&](db::Transaction& transaction) { return ledger::prove_transfer(transaction, id); });
}

/// Checked here, since a proof that no one accepts is not worth keeping.
Result<ledger::TransferProof> proof_of_api(const ApiOptions& options,
                                           const ledger::TransferId& id) {
    GYM_TRY(const client::ApiClient api, options.client_with_key());
    GYM_TRY(const std::string text, api.transfer_proof(to_uuid(id)));
    auto proof = ledger::parse_proof(text);
    if (!proof.ok()) return proof.error().in("gym-api");
    if (proof->transfer.id != id)
        return fail(ErrorCode::kMismatch,
                    "gym-api: this proof is of transfer " + to_uuid(proof->transfer.id));
    const Status checked = ledger::check_proof(*proof);
    if (!checked.ok()) return checked.error().in("gym-api");
    return proof;
}

Status prove(const LedgerOptions& options, bool by_api) {
    const auto named = ledger::parse_uuid(options.id);
    if (!named.ok())
        return fail(ErrorCode::kInvalidArgument,
                    named.error().message + " (`gym wallet statement` lists transfers)");
    const ledger::TransferId& id = *named;
    GYM_TRY(const ledger::TransferProof proof,
            by_api ? proof_of_api(options.api, id) : proof_of_database(options.database, id));
    print_line("{}", ledger::encode_proof(proof));
    return {};
}

/// Customers have an API key and no database: that one has to be named, by a flag or as for psql.
bool asks_api(const CLI::App& command) {
    if (command.count("--api") > 0 || command.count("--api-key-file") > 0) return true;
    return command.count("--host") == 0 && command.count("--port") == 0 &&
           command.count("--database") == 0 && command.count("--user") == 0;
}

}  // namespace

void add_ledger_commands(CLI::App& app, CliContext& context) {
    CLI::App* group = app.add_subcommand(
        "ledger", "Verify the books and prove transfers (database password: PGPASSWORD)");
    group->require_subcommand(1);
    auto options = std::make_shared<LedgerOptions>();

    CLI::App* verify = group->add_subcommand(
        "verify",
        "Recompute every balance, entry and seal, recover the signature of every locked order, and "
        "name the first wrong row");
    options->database.add_to(*verify);
    verify->add_option(
        "--signer", options->signers,
        "Address that may sign seals: the settler (default: the signer of the first seal)");
    verify->add_option("--epoch-file", options->epoch_files,
                       "Published epoch file whose seal must be in the ledger (repeatable)");
    verify->add_flag("--no-views", options->no_views, "Skip the views of schema audit");
    verify->add_option("--proof", options->proof,
                       "Check this proof of one transfer instead, without a database");
    verify->callback([&context, options] {
        context.finish(options->proof.empty() ? verify_ledger(context, *options)
                                              : verify_proof(context, *options));
    });

    CLI::App* prove_command = group->add_subcommand(
        "prove",
        "Print a proof that a transfer is under a signed seal: one of your own from gym-api, or "
        "any from a database (check it with `verify --proof`)");
    options->api.add_to(*prove_command, true);
    options->database.add_to(*prove_command);
    prove_command->add_option("id", options->id, "The transfer's id, a UUID")->required();
    prove_command->callback([&context, options, prove_command] {
        context.finish(prove(*options, asks_api(*prove_command)));
    });
}

}  // namespace gym::app
