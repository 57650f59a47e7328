#pragma once

#include "context.hpp"
#include "gym/records/unit.hpp"

namespace gym::coordinator {

Result<std::optional<UploadLimit>> upload_limit(const Context& context, const Address& worker);
Result<std::optional<std::uint64_t>> committed_delta_bytes(const Context& context,
                                                           const Address& worker,
                                                           const Digest& root);
Status note_upload(const Context& context, const Address& worker, const Digest& root);
Status name_delta(const Context& context, const Address& worker, const Digest& root,
                  const std::vector<std::string>& mirrors);
Result<std::vector<Digest>> wanted_deltas(const Context& context, const Address& worker);
Result<records::CommitmentAck> commit_unit(const Context& context, const Address& worker,
                                           const protocol::SignedCommitment& commitment,
                                           ByteView records);
Result<records::UnitReceipt> unit_receipt(const Context& context, const Digest& unit);
Status defend(const Context& context, const Address& worker, const Digest& unit);

}  // namespace gym::coordinator
