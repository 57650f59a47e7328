#include "transfer_reactors.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "gym/blob/blob_store.hpp"
#include "gym/blob/verified_blob.hpp"
#include "status_map.hpp"
#include "wire.hpp"

namespace gym::rpc {
namespace {

constexpr std::size_t kChunkBytes = 256U << 10;

/// Shared by both directions: admission, a watch for silence, errors that end the call.
template <class Base>
class TransferReactor : public Base {
  public:
    TransferReactor(ServerCore& core, grpc::CallbackServerContext& context)
        : core_(core), context_(context), transfer_(context) {}

    /// Until the caller is admitted the call has no place, and nothing of it is read. After this
    /// the reactor may be gone.
    void begin(std::string_view method) {
        core_.admission().admit(context_, method, Lane::kTransfer,
                                [this](Result<AdmittedPtr> admitted) {
                                    if (!admitted.ok())
                                        return this->Finish(to_grpc(admitted.error()));
                                    admitted_ = std::move(admitted).value();
                                    transfer_.touch();
                                    core_.watch(transfer_);
                                    go();
                                });
    }

    void OnDone() override {
        if (admitted_) core_.unwatch(transfer_);
        delete this;
    }

  protected:
    /// The caller is admitted.
    virtual void go() = 0;

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
    AdmittedPtr admitted_;
};

/// What a peer has not taken yet is not read: a call holds a chunk, however large the blob is.
class Download final : public TransferReactor<grpc::ServerWriteReactor<v1::BlobChunk>> {
  public:
    Download(ServerCore& core, grpc::CallbackServerContext& context,
             const v1::GetBlobRequest& request)
        : TransferReactor(core, context), request_(request) {}

    void OnWriteDone(bool ok) override {
        transfer_.touch();
        if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the peer left"));
        if (offset_ == blob_->size()) return Finish(grpc::Status::OK);
        in_pool([this] { return send_next(); });
    }

  private:
    void go() override {
        in_pool([this] { return open(); });
    }

    Status open() {
        GYM_CHECK(core_.check(*admitted_, request_));
        GYM_TRY(const Digest root, wire::read<Digest>("root", request_.root()));
        GYM_TRY(blob_, core_.handler().open_blob(admitted_->caller(), root));
        if (request_.offset() > blob_->size())
            return fail(ErrorCode::kOutOfRange, "offset " + std::to_string(request_.offset()) +
                                                    " is beyond the blob's " +
                                                    std::to_string(blob_->size()) + " bytes");
        offset_ = request_.offset();
        chunk_.set_size_bytes(blob_->size());
        return send_next();
    }

    /// The first chunk is sent even when it is empty: it carries the size.
    Status send_next() {
        std::string& data = *chunk_.mutable_data();
        data.resize(std::min<std::uint64_t>(kChunkBytes, blob_->size() - offset_));
        GYM_CHECK(blob_->read(
            offset_, std::span(reinterpret_cast<std::uint8_t*>(data.data()), data.size())));
        offset_ += data.size();
        transfer_.touch();
        StartWrite(&chunk_);
        return {};
    }

    const v1::GetBlobRequest& request_;
    std::shared_ptr<const blob::BlobReader> blob_;
    std::uint64_t offset_ = 0;
    v1::BlobChunk chunk_;
};

class Upload final : public TransferReactor<grpc::ServerReadReactor<v1::PutBlobRequest>> {
  public:
    Upload(ServerCore& core, grpc::CallbackServerContext& context)
        : TransferReactor(core, context) {}

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
        if (reserved_ > 0) core_.release_upload(admitted_->caller(), reserved_);
        TransferReactor::OnDone();
    }

  private:
    void go() override { StartRead(&message_); }

    void read_header(bool ok) {
        if (!ok || !message_.has_header())
            return Finish(to_grpc(fail(ErrorCode::kMalformed, "PutBlob starts with a header")));
        have_header_ = true;
        in_pool([this] { return admit(); });
    }

    Status admit() {
        GYM_CHECK(core_.check(*admitted_, message_));
        const Address caller = admitted_->caller();
        GYM_TRY(root_, wire::read<Digest>("root", message_.header().root()));
        size_ = message_.header().size_bytes();
        GYM_CHECK(core_.reserve_upload(caller, size_));
        reserved_ = size_;
        GYM_CHECK(core_.handler().allow_upload(caller, root_, size_));
        transfer_.end_after(upload_time(size_));
        transfer_.touch();
        StartRead(&message_);
        return {};
    }

    /// As long as a node waits itself for an upload that moves.
    [[nodiscard]] std::chrono::milliseconds upload_time(std::uint64_t size_bytes) const {
        constexpr std::uint64_t kBytesPerMsMin = 1'000;
        return std::chrono::milliseconds(std::max(
            core_.config().upload_ms_max, static_cast<std::int64_t>(size_bytes / kBytesPerMsMin)));
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
        GYM_CHECK(core_.handler().put_blob(admitted_->caller(), *blob));
        Finish(grpc::Status::OK);
        return {};
    }

    v1::PutBlobRequest message_;
    bool have_header_ = false;
    Digest root_;
    std::uint64_t size_ = 0;
    std::uint64_t reserved_ = 0;
    blob::BlobReceiver received_;
};

}  // namespace

grpc::ServerWriteReactor<v1::BlobChunk>* serve_get_blob(ServerCore& core,
                                                        grpc::CallbackServerContext& context,
                                                        const v1::GetBlobRequest& request) {
    auto* const download = new Download(core, context, request);
    download->begin("GetBlob");
    return download;
}

grpc::ServerReadReactor<v1::PutBlobRequest>* serve_put_blob(ServerCore& core,
                                                            grpc::CallbackServerContext& context) {
    auto* const upload = new Upload(core, context);
    upload->begin("PutBlob");
    return upload;
}

}  // namespace gym::rpc
