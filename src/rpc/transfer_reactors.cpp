#include "transfer_reactors.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "gym/blob/verified_blob.hpp"
#include "status_map.hpp"
#include "wire.hpp"

namespace gym::rpc {
namespace {

constexpr std::size_t kChunkBytes = 256U << 10;

/// Shared by both directions: a place among the calls, a watch for silence, errors that end the
/// call.
template <class Base>
class TransferReactor : public Base {
  public:
    TransferReactor(ServerCore& core, grpc::CallbackServerContext& context)
        : core_(core), context_(context), transfer_(context) {
        const Status entered = core_.enter_call();
        admitted_ = entered.ok();
        if (admitted_)
            core_.watch(transfer_);
        else
            this->Finish(to_grpc(entered));
    }

    void OnDone() override {
        if (admitted_) {
            core_.unwatch(transfer_);
            core_.leave_call();
        }
        delete this;
    }

  protected:
    /// Runs `body` in the pool; its error ends the call. After it started an operation or finished,
    /// the reactor may be gone: nothing here touches it then.
    void in_pool(std::function<Status()> body) {
        transfer_.work();
        const bool queued = core_.submit([this, body = std::move(body)] {
            const Status status = guarded(body);
            if (!status.ok()) this->Finish(to_grpc(status));
        });
        if (!queued)
            this->Finish(to_grpc(fail(ErrorCode::kUnavailable, "the coordinator is busy")));
    }

    ServerCore& core_;
    grpc::CallbackServerContext& context_;
    Transfer transfer_;
    bool admitted_ = false;
};

class Download final : public TransferReactor<grpc::ServerWriteReactor<v1::BlobChunk>> {
  public:
    Download(ServerCore& core, grpc::CallbackServerContext& context,
             const v1::GetBlobRequest& request)
        : TransferReactor(core, context), request_(request) {
        if (admitted_) in_pool([this] { return load(); });
    }

    void OnWriteDone(bool ok) override {
        transfer_.touch();
        if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the peer left"));
        write_next();
    }

  private:
    Status load() {
        GYM_TRY(const Address caller, core_.authenticate(context_, "GetBlob", request_));
        GYM_TRY(const Digest root, wire::read<Digest>("root", request_.root()));
        GYM_TRY(content_, core_.handler().get_blob(caller, root));
        if (request_.offset() > content_.size())
            return fail(ErrorCode::kOutOfRange, "offset " + std::to_string(request_.offset()) +
                                                    " is beyond the blob's " +
                                                    std::to_string(content_.size()) + " bytes");
        offset_ = request_.offset();
        chunk_.set_size_bytes(content_.size());
        write_next();
        return {};
    }

    void write_next() {
        const std::size_t size = std::min(kChunkBytes, content_.size() - offset_);
        // The first chunk is sent even when it is empty: it carries the size.
        if (size == 0 && sent_any_) return Finish(grpc::Status::OK);
        sent_any_ = true;
        chunk_.set_data(content_.data() + offset_, size);
        offset_ += size;
        transfer_.touch();
        StartWrite(&chunk_);
    }

    const v1::GetBlobRequest& request_;
    Bytes content_;
    std::size_t offset_ = 0;
    bool sent_any_ = false;
    v1::BlobChunk chunk_;
};

class Upload final : public TransferReactor<grpc::ServerReadReactor<v1::PutBlobRequest>> {
  public:
    Upload(ServerCore& core, grpc::CallbackServerContext& context)
        : TransferReactor(core, context) {
        if (admitted_) StartRead(&message_);
    }

    void OnReadDone(bool ok) override {
        transfer_.touch();
        if (!have_header_) return read_header(ok);
        if (ok) {
            const Status status = take(message_);
            if (!status.ok()) return Finish(to_grpc(status));
            return StartRead(&message_);
        }
        in_pool([this] { return store(); });
    }

    void OnDone() override {
        core_.release_upload(reserved_);
        TransferReactor::OnDone();
    }

  private:
    void read_header(bool ok) {
        if (!ok || !message_.has_header())
            return Finish(to_grpc(fail(ErrorCode::kMalformed, "PutBlob starts with a header")));
        have_header_ = true;
        in_pool([this] { return admit(); });
    }

    Status admit() {
        GYM_TRY(caller_, core_.authenticate(context_, "PutBlob", message_));
        GYM_TRY(root_, wire::read<Digest>("root", message_.header().root()));
        size_ = message_.header().size_bytes();
        GYM_CHECK(core_.reserve_upload(size_));
        reserved_ = size_;
        GYM_CHECK(core_.handler().allow_upload(caller_, root_, size_));
        transfer_.touch();
        StartRead(&message_);
        return {};
    }

    Status take(const v1::PutBlobRequest& part) {
        if (part.part_case() != v1::PutBlobRequest::kData || part.data().empty())
            return fail(ErrorCode::kMalformed, "PutBlob: data is expected after the header");
        if (part.data().size() > size_ - received_.size())
            return fail(ErrorCode::kOutOfRange, "the upload is longer than the " +
                                                    std::to_string(size_) + " bytes announced");
        received_.append(as_bytes(part.data()));
        return {};
    }

    Status store() {
        if (context_.IsCancelled()) return fail(ErrorCode::kCancelled, "the upload was broken off");
        if (received_.size() != size_)
            return fail(ErrorCode::kMismatch,
                        "truncated upload: " + std::to_string(received_.size()) + " of " +
                            std::to_string(size_) + " bytes arrived");
        const auto blob = std::move(received_).finish(root_);
        if (!blob.ok()) return blob.error().in("upload");
        GYM_CHECK(core_.handler().put_blob(caller_, *blob));
        Finish(grpc::Status::OK);
        return {};
    }

    v1::PutBlobRequest message_;
    bool have_header_ = false;
    Address caller_;
    Digest root_;
    std::uint64_t size_ = 0;
    std::uint64_t reserved_ = 0;
    blob::BlobReceiver received_;
};

}  // namespace

grpc::ServerWriteReactor<v1::BlobChunk>* serve_get_blob(ServerCore& core,
                                                        grpc::CallbackServerContext& context,
                                                        const v1::GetBlobRequest& request) {
    return new Download(core, context, request);
}

grpc::ServerReadReactor<v1::PutBlobRequest>* serve_put_blob(ServerCore& core,
                                                            grpc::CallbackServerContext& context) {
    return new Upload(core, context);
}

}  // namespace gym::rpc
