#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::node {

/// The base states that a node keeps when no unit needs them any more, because the next rounds' are
/// made of them by updates, or another unit of their round may come: of each job those of the two
/// newest rounds that it had, of the kJobsMax jobs that it worked for last. One small file a job; a
/// crash loses none. Objects of the same folder, also in other threads, see each other's changes.
class KeptBases {
  public:
    static constexpr std::size_t kRoundsMax = 2;
    static constexpr std::size_t kJobsMax = 4;

    /// Makes the folder when something is kept.
    explicit KeptBases(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Keeps the base state of a round; one that is older than those kept is not.
    /// @return blobs that are not kept any more. @errors kIo.
    Result<std::vector<Digest>> keep(const Digest& job_id, std::uint64_t round, const Digest& blob);
    [[nodiscard]] bool holds(const Digest& blob) const;

  private:
    struct Kept {
        std::uint64_t round = 0;
        Digest blob;
    };
    [[nodiscard]] static std::vector<Kept> read(const std::filesystem::path& file);
    [[nodiscard]] std::vector<std::filesystem::path> files() const;
    std::vector<Digest> forget_other_jobs(const std::filesystem::path& newest) const;

    std::filesystem::path folder_;
};

}  // namespace gym::node
