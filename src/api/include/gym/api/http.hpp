#pragma once

#include "gym/http_server/download.hpp"
#include "gym/http_server/handler.hpp"
#include "gym/http_server/problem.hpp"

/// What the routes use of the HTTP server, under the names of this module.
namespace gym::api {

using http_server::answer_download;
using http_server::BodySink;
using http_server::BodyStream;
using http_server::Handler;
using http_server::http_status;
using http_server::phrase;
using http_server::problem;
using http_server::Request;
using http_server::Response;

}  // namespace gym::api
