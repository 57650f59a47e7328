#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/mirror/blob_handler.hpp"
#include "gym/rpc/call_auth.hpp"

/// Uploads to mirrors (docs/PROTOCOL.md, "Blobs by HTTP"): a ticket of the coordinator says who may
/// upload which blob, a signature of the worker that it is the one.
namespace gym::rpc {

inline constexpr char kTicketHeader[] = "Gym-Ticket";
inline constexpr char kAuthHeader[] = "Gym-Auth";
/// For how long a ticket is good: a large delta takes its time to two mirrors.
inline constexpr std::int64_t kTicketMs = std::int64_t{30} * 60'000;
inline constexpr std::size_t kTicketBytes =
    Address::kSize + Digest::kSize + 16 + crypto::Signature::kSize;

/// That `worker` may upload a blob of this root and size.
struct UploadTicket {
    Address worker;
    Digest root;
    std::uint64_t size_bytes = 0;
    UnixMs expires_ms = 0;
    crypto::Signature signature;  ///< the coordinator's

    friend bool operator==(const UploadTicket&, const UploadTicket&) = default;
};

/// EIP-712 UploadTicket(address worker,bytes32 root,uint64 size,uint64 expiresMs).
[[nodiscard]] Digest ticket_digest(const crypto::Eip712Domain& domain, const UploadTicket& ticket);
[[nodiscard]] UploadTicket sign_ticket(const crypto::Eip712Domain& domain, UploadTicket ticket,
                                       const crypto::PrivateKey& key);
[[nodiscard]] Bytes encode(const UploadTicket& ticket);
/// @errors kUnauthenticated for bytes that are no ticket.
[[nodiscard]] Result<UploadTicket> decode_upload_ticket(ByteView bytes);

/// The headers of one upload; `ticket` is encoded.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> upload_headers(
    const crypto::Eip712Domain& domain, ByteView ticket, const crypto::PrivateKey& key,
    UnixMs now_ms);

/// Admits uploads with a ticket of one of `coordinators` and the signature of its worker, each
/// signature once, and orders for copies with a ticket that is of and for a coordinator.
/// Thread-safe.
class TicketGate final : public mirror::UploadGate {
  public:
    /// `clock` must outlive it. @param size_bytes_max of a blob, whatever a ticket says.
    TicketGate(crypto::Eip712Domain domain, std::set<Address> coordinators,
               std::uint64_t size_bytes_max, const Clock& clock)
        : domain_(std::move(domain)),
          coordinators_(std::move(coordinators)),
          size_bytes_max_(size_bytes_max),
          clock_(clock) {}
    Result<std::uint64_t> admit(const Digest& root, const http_server::Request& head) override;

  private:
    [[nodiscard]] Status check_ticket(const UploadTicket& ticket) const;

    const crypto::Eip712Domain domain_;
    const std::set<Address> coordinators_;
    const std::uint64_t size_bytes_max_;
    const Clock& clock_;
    ReplayGuard guard_;
};

}  // namespace gym::rpc
