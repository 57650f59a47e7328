#pragma once

#include <memory>
#include <string>

#include "gym/api/backend.hpp"
#include "gym/api/http.hpp"
#include "gym/api/router.hpp"
#include "gym/common/clock.hpp"

namespace gym::api {

struct ApiOptions {
    Network network;
    std::string network_profile;  ///< JSON that the operator signed; empty: none is published
    std::int64_t node_live_ms = 30'000;  ///< a node seen so recently counts as live
    std::uint64_t dataset_bytes_max = std::uint64_t{256} << 20;
    std::uint64_t upload_bytes_max = std::uint64_t{64} << 30;  ///< of a blob
};

struct ApiDependencies {
    Queries& queries;
    Submissions& submissions;
    Keys& keys;
    const Clock& clock;
    Uploads* uploads = nullptr;  ///< nullptr: requests to upload are answered with 503
    Mixes* mixes = nullptr;      ///< likewise of requests for mixes
};

/// All routes of gym-api behind one Handler: authentication, routing, answers, metrics. Holds no
/// state but counters.
class Api final : public Handler {
  public:
    /// References must outlive the object.
    Api(ApiDependencies dependencies, ApiOptions options);
    ~Api() override;

    [[nodiscard]] Admission admit(const Request& head) override;
    [[nodiscard]] Response handle(const Request& request) override;
    [[nodiscard]] Response refuse(unsigned status, std::string_view detail,
                                  std::string_view request_id) override;
    [[nodiscard]] Response refuse_body(const Error& error, std::string_view request_id) override;
    void connections(std::int64_t open) override;
    [[nodiscard]] const Router& router() const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::api
