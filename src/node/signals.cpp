#include "gym/node/signals.hpp"

#include <pthread.h>
#include <signal.h>

#include <thread>

namespace gym::node {

std::stop_token stop_on_signals() {
    static std::stop_source source;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    // Blocked here, so in every thread that starts later; one thread waits for them.
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::thread([signals] {
        int number = 0;
        while (sigwait(&signals, &number) != 0) {
        }
        source.request_stop();
    }).detach();
    return source.get_token();
}

}  // namespace gym::node
