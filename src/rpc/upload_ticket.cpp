#include "gym/rpc/upload_ticket.hpp"

#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/mirror/copy.hpp"

namespace gym::rpc {
namespace {

constexpr std::string_view kType =
    "UploadTicket(address worker,bytes32 root,uint64 size,uint64 expiresMs)";
constexpr std::string_view kMethod = "PutDelta";

Result<Bytes> read_header(const http_server::Request& head, const char* name,
                          std::string_view key) {
    const std::string_view text = head.header(key);
    if (text.empty())
        return fail(ErrorCode::kUnauthenticated,
                    std::string("an upload needs the header ") + name +
                        ": ask the coordinator for a ticket (docs/PROTOCOL.md, Blobs by HTTP)");
    auto bytes = from_hex(text);
    if (bytes.ok()) return bytes;
    return fail(ErrorCode::kUnauthenticated, std::string(name) + " is not hexadecimal");
}

}  // namespace

Digest ticket_digest(const crypto::Eip712Domain& domain, const UploadTicket& ticket) {
    crypto::StructHasher hasher(kType);
    hasher.address(ticket.worker).bytes32(ticket.root).uint(ticket.size_bytes);
    hasher.uint(static_cast<std::uint64_t>(ticket.expires_ms));
    return crypto::typed_data_digest(domain, hasher.finish());
}

UploadTicket sign_ticket(const crypto::Eip712Domain& domain, UploadTicket ticket,
                         const crypto::PrivateKey& key) {
    ticket.signature = key.sign_digest(ticket_digest(domain, ticket));
    return ticket;
}

Bytes encode(const UploadTicket& ticket) {
    commit::Encoder out;
    out.fixed(ticket.worker).fixed(ticket.root).u64(ticket.size_bytes).i64(ticket.expires_ms);
    out.fixed(ticket.signature);
    return out.take();
}

Result<UploadTicket> decode_upload_ticket(ByteView bytes) {
    if (bytes.size() != kTicketBytes)
        return fail(ErrorCode::kUnauthenticated, "the upload's ticket has " +
                                                     std::to_string(bytes.size()) + " bytes, not " +
                                                     std::to_string(kTicketBytes));
    commit::Decoder in(bytes);
    UploadTicket ticket;
    GYM_TRY(ticket.worker, in.address());
    GYM_TRY(ticket.root, in.digest());
    GYM_TRY(ticket.size_bytes, in.u64());
    GYM_TRY(ticket.expires_ms, in.i64());
    GYM_TRY(ticket.signature, in.fixed<crypto::Signature>());
    return ticket;
}

std::vector<std::pair<std::string, std::string>> upload_headers(const crypto::Eip712Domain& domain,
                                                                ByteView ticket,
                                                                const crypto::PrivateKey& key,
                                                                UnixMs now_ms) {
    return {{kTicketHeader, to_hex(ticket)},
            {kAuthHeader, to_hex(encode(sign_call(domain, kMethod, ticket, key, now_ms)))}};
}

Status TicketGate::check_ticket(const UploadTicket& ticket) const {
    const auto signer = crypto::recover_address(ticket_digest(domain_, ticket), ticket.signature);
    if (!signer.ok()) return signer.error().in("ticket");
    if (!coordinators_.contains(*signer))
        return fail(ErrorCode::kPermissionDenied,
                    "the ticket is signed by " + signer->hex() +
                        ", which is no coordinator that this mirror takes uploads for");
    if (ticket.expires_ms <= clock_.now_ms())
        return fail(ErrorCode::kPermissionDenied,
                    "the ticket has expired: ask the coordinator for another");
    if (ticket.size_bytes > size_bytes_max_)
        return fail(ErrorCode::kOutOfRange, "this mirror takes blobs of at most " +
                                                std::to_string(size_bytes_max_) + " bytes");
    return {};
}

Result<std::uint64_t> TicketGate::admit(const Digest& root, const http_server::Request& head) {
    GYM_TRY(const Bytes ticket_bytes, read_header(head, kTicketHeader, "gym-ticket"));
    GYM_TRY(const Bytes auth_bytes, read_header(head, kAuthHeader, "gym-auth"));
    GYM_TRY(const UploadTicket ticket, decode_upload_ticket(ticket_bytes));
    GYM_TRY(const CallAuth auth, decode_call_auth(auth_bytes));
    if (ticket.root != root)
        return fail(ErrorCode::kPermissionDenied,
                    "the ticket is for blob " + ticket.root.hex() + ", not for " + root.hex());
    if (auth.caller != ticket.worker)
        return fail(ErrorCode::kPermissionDenied, "the ticket is for " + ticket.worker.hex() +
                                                      ", " + auth.caller.hex() +
                                                      " signed the upload");
    GYM_CHECK(check_ticket(ticket));
    if (!head.header(mirror::kCopyFromHeader).empty() && !coordinators_.contains(ticket.worker))
        return fail(ErrorCode::kPermissionDenied,
                    "only a coordinator orders copies, by a ticket that is its own");
    GYM_CHECK(check_call(domain_, kMethod, ticket_bytes, auth, clock_.now_ms(), guard_));
    return ticket.size_bytes;
}

}  // namespace gym::rpc
