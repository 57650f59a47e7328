#include "verify_seals.hpp"

namespace gym::ledger {
namespace {

constexpr std::size_t kSealPage = 1'000;

std::string seal_name(std::uint64_t number) {
    return "seal " + std::to_string(number);
}

}  // namespace

SealChain::SealChain(Findings& findings, const VerifyOptions& options)
    : findings_(findings), signers_(options.signers.begin(), options.signers.end()) {
    for (const SealHead& head : options.heads) {
        const auto [at, is_new] = heads_.emplace(head.number, head.hash);
        if (!is_new && at->second != head.hash)
            findings_.add({seal_name(head.number), "two files name it differently",
                           at->second.hex(), head.hash.hex()});
    }
}

Result<const Seal*> SealChain::current(db::Transaction& transaction) {
    if (waiting_.empty()) {
        GYM_TRY(const auto seals, read_seals(transaction, fetched_, kSealPage));
        waiting_.assign(seals.begin(), seals.end());
        if (!seals.empty()) fetched_ = seals.back().record.number;
    }
    return waiting_.empty() ? nullptr : &waiting_.front();
}

Status SealChain::add(db::Transaction& transaction, const SealedTransfer& transfer,
                      const Digest& leaf) {
    GYM_TRY(const Seal* seal, current(transaction));
    while (seal != nullptr && transfer.seq > seal->record.last_seq) {
        close_current();
        GYM_TRY(seal, current(transaction));
    }
    if (seal == nullptr) {
        ++unsealed_;
        return {};
    }
    if (transfer.seq < seal->record.first_seq) {
        // After a missing seal these may be its transfers; it is reported itself.
        if (seal->record.number == before_.number + 1)
            findings_.add({name_of(transfer),
                           "is under no seal, though seal " + std::to_string(seal->record.number) +
                               " was made after it",
                           "", ""});
        return {};
    }
    if (covered_.first_seq == 0) covered_.first_seq = transfer.seq;
    covered_.last_seq = transfer.seq;
    covered_.leaves.add(leaf);
    return {};
}

Status SealChain::close(db::Transaction& transaction) {
    for (;;) {
        GYM_TRY(const Seal* seal, current(transaction));
        if (seal == nullptr) break;
        close_current();
    }
    for (const auto& [number, hash] : heads_)
        findings_.add(
            {seal_name(number), "is missing: a file from outside names it", hash.hex(), "none"});
    return {};
}

void SealChain::close_current() {
    const Seal seal = waiting_.front();
    waiting_.pop_front();
    // The first thing wrong with a seal; the next one is held against it as it is.
    (void)(check_record(seal) && check_signer(seal) && check_covered(seal));
    before_ = seal.record;
    hash_before_ = seal.hash;
    covered_ = {};
}

bool SealChain::report(const Seal& seal, const char* what, std::string expected,
                       std::string found) {
    findings_.add({seal_name(seal.record.number), what, std::move(expected), std::move(found)});
    return false;
}

bool SealChain::check_record(const Seal& seal) {
    const SealRecord& record = seal.record;
    if (record.number != before_.number + 1) {
        findings_.add({seal_name(before_.number + 1), "is missing", "", seal_name(record.number)});
        return false;
    }
    if (record.previous != hash_before_)
        return report(seal, "hash of the seal before", hash_before_.hex(), record.previous.hex());
    if (record.sealed_at < before_.sealed_at)
        return report(seal, "its time is before that of the seal before",
                      std::to_string(before_.sealed_at), std::to_string(record.sealed_at));
    const Digest expected = seal_hash(record);
    if (seal.hash != expected)
        return report(seal, "hash of its content", expected.hex(), seal.hash.hex());
    const auto head = heads_.find(record.number);
    if (head == heads_.end()) return true;
    const Digest named = head->second;
    heads_.erase(head);
    if (named != seal.hash)
        return report(seal, "a file from outside names another", named.hex(), seal.hash.hex());
    return true;
}

bool SealChain::check_signer(const Seal& seal) {
    if (signers_.empty()) signers_.insert(seal.record.signer);
    if (!signers_.contains(seal.record.signer))
        return report(seal, "signer", signers_.begin()->hex(), seal.record.signer.hex());
    const Status status = check_seal(seal);
    if (!status.ok())
        return report(seal, "signature", "of " + seal.record.signer.hex(), status.error().message);
    return true;
}

bool SealChain::check_covered(const Seal& seal) {
    const SealRecord& record = seal.record;
    const auto text = [](std::uint64_t first, std::uint64_t last, std::uint64_t count) {
        return std::to_string(count) + " with seq " + std::to_string(first) + " to " +
               std::to_string(last);
    };
    const std::uint64_t count = covered_.leaves.leaf_count();
    if (count != record.transfers || covered_.first_seq != record.first_seq ||
        covered_.last_seq != record.last_seq)
        return report(seal, "its transfers",
                      text(record.first_seq, record.last_seq, record.transfers),
                      text(covered_.first_seq, covered_.last_seq, count));
    const Digest root = covered_.leaves.root();
    if (root != record.root)
        return report(seal,
                      ("root over its transfers, seq " + std::to_string(record.first_seq) + " to " +
                       std::to_string(record.last_seq))
                          .c_str(),
                      record.root.hex(), root.hex());
    return true;
}

}  // namespace gym::ledger
