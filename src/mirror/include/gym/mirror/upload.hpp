#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::mirror {

/// Uploads blobs to mirrors (docs/PROTOCOL.md, "Blobs by HTTP"), and remembers which refused or
/// stalled. Thread-safe.
class Uploader {
  public:
    using Headers = std::vector<std::pair<std::string, std::string>>;
    /// Made anew for each request: a signature is taken once.
    using MakeHeaders = std::function<Result<Headers>()>;

    /// Sends the blob to the first `copies` of `urls` that take it. What a mirror refuses costs no
    /// upload. Mirrors that failed lately come last; after three failures no other is asked.
    /// @return those that have it now, as they were given. @errors kCancelled.
    [[nodiscard]] Result<std::vector<std::string>> place(const std::vector<std::string>& urls,
                                                         const Digest& root, ByteView content,
                                                         std::size_t copies,
                                                         const MakeHeaders& headers,
                                                         const std::stop_token& stop);

  private:
    [[nodiscard]] std::vector<std::string> in_order(const std::vector<std::string>& urls);
    void note(const std::string& url, const Status& sent);

    std::mutex mutex_;
    /// When a mirror that failed is taken for a good one again.
    std::map<std::string, std::chrono::steady_clock::time_point> failed_;
};

}  // namespace gym::mirror
