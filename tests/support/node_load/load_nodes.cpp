#include "load_nodes.hpp"

#include "gym/protocol/commitment.hpp"
#include "gym/rpc/call_auth.hpp"
#include "must.hpp"

namespace gym::testing {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryAfter{1'000};
constexpr std::int64_t kCallMsMax = 10'000;

double ms_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
}

/// A call with what must live as long as it.
template <class Request, class Response>
struct OpenCall {
    std::shared_ptr<grpc::ClientContext> context;
    Request request;
    Response response;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

protocol::UptimeChallenge read_challenge(const v1::UptimeChallenge& in) {
    return {must(Digest::from(as_bytes(in.nonce()))), in.issued_unix_ms(), in.deadline_unix_ms()};
}

}  // namespace

LoadNodes::LoadNodes(const LoadNodesOptions& options) : options_(options) {
    for (std::size_t i = 0; i < options.count; ++i) {
        nodes_.push_back(std::make_unique<Node>());
        nodes_.back()->target = i % options.targets.size();
        connect(*nodes_.back(), i);
    }
    grpc::ClientContext context;
    v1::GetNetworkResponse network;
    const auto asked = nodes_[0]->stub->GetNetwork(&context, v1::GetNetworkRequest(), &network);
    GYM_ASSERT(asked.ok(), asked.error_message());
    domain_ = protocol::signing_domain(network.chain_id(),
                                       must(Address::from(as_bytes(network.commitment_log()))));
    thread_ = std::jthread([this] { run(); });
}

LoadNodes::~LoadNodes() {
    stop();
}

void LoadNodes::connect(Node& node, std::size_t index) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    arguments.SetInt("gym.node", static_cast<int>(index));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
    node.stub = v1::NodeService::NewStub(grpc::CreateCustomChannel(
        options_.targets[node.target], grpc::InsecureChannelCredentials(), arguments));
}

std::shared_ptr<v1::NodeService::Stub> LoadNodes::stub_of(Node& node) {
    const std::scoped_lock lock(node.mutex);
    return node.stub;
}

/// To the next coordinator when this one is gone.
void LoadNodes::move_on(std::size_t index, const grpc::Status& status) {
    if (options_.targets.size() < 2 || status.error_code() != grpc::StatusCode::UNAVAILABLE) return;
    Node& node = *nodes_[index];
    const std::scoped_lock lock(node.mutex);
    node.target = (node.target + 1) % options_.targets.size();
    connect(node, index);
}

std::unique_ptr<grpc::ClientContext> LoadNodes::context(const Node& node, std::string_view method,
                                                        const google::protobuf::Message& request,
                                                        std::int64_t deadline_ms) {
    auto out = std::make_unique<grpc::ClientContext>();
    const std::string bytes = request.SerializeAsString();
    const Bytes auth =
        encode(rpc::sign_call(domain_, method, as_bytes(bytes), node.key, clock_.now_ms()));
    out->AddMetadata(rpc::kAuthMetadataKey, std::string(auth.begin(), auth.end()));
    out->set_deadline(std::chrono::system_clock::now() + milliseconds(deadline_ms));
    return out;
}

void LoadNodes::schedule(std::size_t node, LoadCall call, milliseconds after) {
    {
        const std::scoped_lock lock(mutex_);
        due_.push({Clock::now() + after, node, call});
    }
    changed_.notify_one();
}

void LoadNodes::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (due_.empty()) {
            changed_.wait(lock);
            continue;
        }
        const Due next = due_.top();
        if (next.at > Clock::now()) {
            changed_.wait_until(lock, next.at);
            continue;
        }
        due_.pop();
        lock.unlock();
        if (next.call == LoadCall::kHeartbeat)
            heartbeat(next.node);
        else
            poll(next.node);
        lock.lock();
    }
}

void LoadNodes::start() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const auto spread = [&](std::uint32_t interval_ms) {
            return milliseconds(interval_ms * i / nodes_.size());
        };
        schedule(i, LoadCall::kHeartbeat, spread(options_.heartbeat_every_ms));
        schedule(i, LoadCall::kPoll, spread(options_.poll_spread_ms));
    }
}

void LoadNodes::heartbeat(std::size_t index) {
    Node& node = *nodes_[index];
    auto call = std::make_shared<OpenCall<v1::HeartbeatRequest, v1::HeartbeatResponse>>();
    {
        const std::scoped_lock lock(node.mutex);
        call->request.set_phase(node.task ? "run" : "idle");
        if (node.challenge) {
            const auto answer = protocol::answer_uptime(domain_, node.key, *node.challenge);
            auto& out = *call->request.mutable_answer();
            out.set_nonce(answer.nonce.data.data(), answer.nonce.data.size());
            out.set_signature(answer.signature.data.data(), answer.signature.data.size());
        }
        node.challenge.reset();
    }
    call->context = context(node, "Heartbeat", call->request, kCallMsMax);
    call->start = Clock::now();
    ++in_flight_;
    stub_of(node)->async()->Heartbeat(
        call->context.get(), &call->request, &call->response,
        [this, index, call](const grpc::Status& status) {
            if (status.ok()) {
                log_.add(LoadCall::kHeartbeat, ms_since(call->start));
                const std::scoped_lock lock(nodes_[index]->mutex);
                if (call->response.has_challenge())
                    nodes_[index]->challenge = read_challenge(call->response.challenge());
            } else if (!stopping_) {
                log_.fail(LoadCall::kHeartbeat, status.error_message());
                move_on(index, status);
            }
            schedule(index, LoadCall::kHeartbeat,
                     status.ok() ? milliseconds(options_.heartbeat_every_ms) : kRetryAfter);
            --in_flight_;
        });
}

void LoadNodes::poll(std::size_t index) {
    Node& node = *nodes_[index];
    auto call = std::make_shared<OpenCall<v1::NextTaskRequest, v1::NextTaskResponse>>();
    call->request.set_wait_ms(options_.poll_wait_ms);
    call->context = context(node, "NextTask", call->request, options_.poll_wait_ms + kCallMsMax);
    {
        const std::scoped_lock lock(node.mutex);
        node.poll = call->context;
    }
    call->start = Clock::now();
    ++in_flight_;
    stub_of(node)->async()->NextTask(
        call->context.get(), &call->request, &call->response,
        [this, index, call](const grpc::Status& status) {
            if (status.ok() && call->response.has_train()) {
                take(index, call->response);
            } else if (status.ok()) {
                log_.add(LoadCall::kPoll, ms_since(call->start) - options_.poll_wait_ms);
                schedule(index, LoadCall::kPoll, milliseconds(0));
            } else {
                if (!stopping_) log_.fail(LoadCall::kPoll, status.error_message());
                if (!stopping_) move_on(index, status);
                schedule(index, LoadCall::kPoll, kRetryAfter);
            }
            --in_flight_;
        });
}

void LoadNodes::take(std::size_t index, const v1::NextTaskResponse& response) {
    {
        const std::scoped_lock lock(nodes_[index]->mutex);
        nodes_[index]->task = response.train();
    }
    {
        const std::scoped_lock lock(given_mutex_);
        given_.push_back(response.train().unit());
    }
    last_task_ms_ = clock_.now_ms();
    ++tasks_;
}

bool LoadNodes::wait_for_tasks(std::size_t tasks, milliseconds timeout) {
    const auto deadline = Clock::now() + timeout;
    while (tasks_ < tasks && Clock::now() < deadline)
        std::this_thread::sleep_for(milliseconds(5));
    return tasks_ >= tasks;
}

std::vector<v1::UnitKey> LoadNodes::given_units() {
    const std::scoped_lock lock(given_mutex_);
    return given_;
}

void LoadNodes::for_all(unsigned in_flight, const std::function<void(std::size_t)>& body) {
    std::atomic<std::size_t> next{0};
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < in_flight; ++i)
        threads.emplace_back([&] {
            for (std::size_t at = next++; at < nodes_.size(); at = next++)
                body(at);
        });
}

void LoadNodes::stop() {
    if (stopping_.exchange(true)) return;
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    for (const auto& node : nodes_) {
        const std::scoped_lock lock(node->mutex);
        if (node->poll) node->poll->TryCancel();
    }
    while (in_flight_ > 0)
        std::this_thread::sleep_for(milliseconds(5));
}

}  // namespace gym::testing
