#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gym/common/memory.hpp"
#include "gym/common/result.hpp"

namespace gym::data {

/// The memory that the sets of one build may take together.
class IndexBudget {
  public:
    explicit IndexBudget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
    /// @errors kOutOfRange, with the option that raises the limit.
    Status take(std::uint64_t bytes) {
        if (bytes > bytes_max_ - used_)
            return fail(ErrorCode::kOutOfRange,
                        "the index of duplicates needs more than " + memory_text(bytes_max_) +
                            ": raise --index-memory and run the command again, which continues, "
                            "or build from fewer documents");
        used_ += bytes;
        return {};
    }
    void give_back(std::uint64_t bytes) { used_ -= bytes; }
    [[nodiscard]] std::uint64_t used_bytes() const { return used_; }

  private:
    std::uint64_t bytes_max_;
    std::uint64_t used_ = 0;
};

/// A set of keys that are uniform hashes: open addressing, at most three quarters full, so 11 to 16
/// bytes for a key of eight. Key: an array of std::uint64_t. Not thread-safe.
template <std::size_t kWords>
class KeySet {
  public:
    using Key = std::array<std::uint64_t, kWords>;
    explicit KeySet(IndexBudget& budget) : budget_(&budget) {}

    [[nodiscard]] bool contains(Key key) const {
        return !slots_.empty() && slots_[slot_of(slots_, legal(key))] != Key{};
    }
    /// @return whether it is new. @errors those of IndexBudget::take(); the set is as before then.
    Result<bool> insert(Key key) {
        key = legal(key);
        if (!slots_.empty()) {
            Key& slot = slots_[slot_of(slots_, key)];
            if (slot == key) return false;
        }
        if ((size_ + 1) * 4 > slots_.size() * 3) GYM_CHECK(grow());
        slots_[slot_of(slots_, key)] = key;
        ++size_;
        return true;
    }
    [[nodiscard]] std::uint64_t size() const { return size_; }

  private:
    static constexpr std::size_t kSlotsMin = 1024;

    /// Zero marks an empty slot.
    static Key legal(Key key) {
        if (key == Key{}) key[0] = 1;
        return key;
    }
    /// Where `key` is, or would be.
    static std::size_t slot_of(const std::vector<Key>& slots, const Key& key) {
        std::size_t at = static_cast<std::size_t>(
            (static_cast<unsigned long long>(key[0] >> 32) * slots.size()) >> 32);
        while (slots[at] != Key{} && slots[at] != key)
            at = at + 1 == slots.size() ? 0 : at + 1;
        return at;
    }
    Status grow() {
        const std::size_t count = slots_.empty() ? kSlotsMin : slots_.size() + slots_.size() / 2;
        GYM_CHECK(budget_->take(count * sizeof(Key)));
        std::vector<Key> larger(count);
        for (const Key& key : slots_)
            if (key != Key{}) larger[slot_of(larger, key)] = key;
        budget_->give_back(slots_.size() * sizeof(Key));
        slots_ = std::move(larger);
        return {};
    }

    IndexBudget* budget_;
    std::vector<Key> slots_;
    std::uint64_t size_ = 0;
};

}  // namespace gym::data
