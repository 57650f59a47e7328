#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/data/address_kind.hpp"
#include "gym/data/input.hpp"

namespace gym::data {

struct RemoteOptions {
    std::string s3_endpoint;  ///< http(s)://host[:port]; empty: https://s3.REGION.amazonaws.com
    std::string s3_region = "us-east-1";
    std::string s3_key, s3_secret, s3_token;      ///< empty: requests are not signed
    std::string bearer;                           ///< API key for https:// URLs; empty: none
    unsigned attempts_max = 5;                    ///< of a request that a server does not finish
    std::chrono::milliseconds retry_pause{1000};  ///< before the second one; then twice as long
    std::uint64_t bytes_max = 0;                  ///< of a file; 0: whatever the server sends
    std::function<bool()> stopped;                ///< asked while bytes arrive; may be empty
    /// The nearest address that a redirection may lead to; absent: as near as the first server.
    std::optional<AddressKind> redirects_to;

    /// The settings of $AWS_ENDPOINT_URL_S3 or $AWS_ENDPOINT_URL, $AWS_REGION or
    /// $AWS_DEFAULT_REGION, $AWS_ACCESS_KEY_ID, $AWS_SECRET_ACCESS_KEY, $AWS_SESSION_TOKEN.
    [[nodiscard]] static RemoteOptions from_environment();
};

/// s3://, https:// or http://.
[[nodiscard]] bool is_remote(const std::string& name);

/// Files on HTTP servers and in S3 buckets (signature version 4, buckets in the path), by libcurl.
/// TLS 1.2 at least, the system's authorities or $SSL_CERT_FILE. A server on the internet redirects
/// to no address of this machine or its networks, and none from https to http. Not thread-safe.
class Remote {
  public:
    explicit Remote(RemoteOptions options);
    Remote(Remote&&) noexcept;
    Remote& operator=(Remote&&) = delete;
    ~Remote();

    /// A URL as it is; for s3://BUCKET or s3://BUCKET/PREFIX/ the objects below, by their keys in
    /// bytewise order. @errors kInvalidArgument for a malformed URL or nothing below it; those of
    /// download().
    [[nodiscard]] Result<std::vector<Input>> expand(const std::string& url,
                                                    const ReaderOptions& options);
    /// Copies a file to `to`, which is not there before it is whole. What an earlier call left in
    /// TO.part is kept if the file is still the same one (ETag) and the server takes ranges.
    /// @errors kNotFound; kUnauthenticated; kPermissionDenied; kUnavailable and kTimeout after
    /// `attempts_max`; kConflict: it changed meanwhile; kPermissionDenied also for a redirection to
    /// an address that is too near; kCancelled; kIo, a full disk among others.
    Status download(const Input& input, const std::filesystem::path& to);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::data
