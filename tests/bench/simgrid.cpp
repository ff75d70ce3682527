/* SimGrid's S4U under the workloads of bench/model, which runs this program and prints both:
     simgrid flows K ROUNDS     permutation traffic of 1 MB transfers on a fat tree of K * K hosts
     simgrid puts K ROUNDS      the same traffic of 0.5 to 1.5 MB through mailboxes: each host has a sender and a receiver
     simgrid dense K FLOWS BYTES FLOWS of each host at once, of 1 to BYTES bytes, to random others
     simgrid put_ack COUNT      COUNT puts of each size, each answered by a 32-byte message; sizes from stdin
   Prints operations, seconds of CPU time of the run alone, and simulated seconds. What SimGrid needs to be
   fast is given to it: no cross traffic, the plain model of TCP switched off, raw contexts, transfers
   from host to host without mailboxes but where messages are to be received. */
#include "permutation.h"
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>
namespace sg4 = simgrid::s4u;

static double cpu_s() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static const double link_bytes_per_s = 12.5e9 * 64 / 72; /* payload of what the wire carries */

static std::vector<int> to;
static std::vector<double> bytes;
static std::vector<sg4::Host *> host;
static void flows_of_host(int me, int hosts, int rounds) {
  for (int r = rounds - 1; r >= 0; r--)
    sg4::Comm::sendto(host[(size_t)me], host[(size_t)to[(size_t)(r * hosts + me)]], 1000000);
}
static void sends_of_host(int me, int hosts, int rounds) {
  static int word;
  for (int r = rounds - 1; r >= 0; r--)
    sg4::Mailbox::by_name(std::to_string(to[(size_t)(r * hosts + me)]))->put(&word, (uint64_t)message_bytes(me, r));
}
static void gets_of_host(int me, int rounds) { /* one of each round, whoever is first */
  sg4::Mailbox *mine = sg4::Mailbox::by_name(std::to_string(me));
  mine->set_receiver(sg4::Actor::self()); /* what is sent sets out: no sender waits for another */
  for (int r = 0; r < rounds; r++) mine->get<int>();
}
static void dense_of_host(int me, int hosts, int count) {
  std::vector<sg4::CommPtr> under_way;
  for (int i = me; i < hosts * count; i += hosts)
    under_way.push_back(sg4::Comm::sendto_async(host[(size_t)me], host[(size_t)to[(size_t)i]], (uint64_t)bytes[(size_t)i]));
  for (auto &comm : under_way) comm->wait();
}
static void tree(unsigned k) {
  sg4::create_fatTree_zone(
      "tree", sg4::Engine::get_instance()->get_netzone_root(), {2, {k, k}, {1, k}, {1, 1}},
      sg4::ClusterCallbacks([](sg4::NetZone *zone, const std::vector<unsigned long> &, unsigned long id) {
        host.push_back(zone->create_host("h" + std::to_string(id), 1e9)->seal());
        return std::make_pair(host.back()->get_netpoint(), (simgrid::kernel::routing::NetPoint *)nullptr);
      }),
      link_bytes_per_s, 0, sg4::Link::SharingPolicy::SPLITDUPLEX)->seal();
}
static double dense(unsigned k, int count, double most) {
  const int hosts = (int)(k * k);
  tree(k);
  to.resize((size_t)(count * hosts));
  bytes.resize(to.size());
  dense_traffic(to.data(), bytes.data(), hosts, count, most);
  for (int i = 0; i < hosts; i++)
    sg4::Actor::create("a", host[(size_t)i], [=] { dense_of_host(i, hosts, count); });
  return (double)hosts * count;
}
static double flows(unsigned k, int rounds, bool are_received) {
  const int hosts = (int)(k * k);
  tree(k);
  to.resize((size_t)(rounds * hosts));
  permutations(to.data(), hosts, rounds);
  for (int i = 0; i < hosts && !are_received; i++)
    sg4::Actor::create("a", host[(size_t)i], [=] { flows_of_host(i, hosts, rounds); });
  for (int i = 0; i < hosts && are_received; i++) {
    sg4::Actor::create("s", host[(size_t)i], [=] { sends_of_host(i, hosts, rounds); });
    sg4::Actor::create("r", host[(size_t)i], [=] { gets_of_host(i, rounds); });
  }
  return (double)hosts * rounds;
}

static std::vector<double> sizes;
static void puts_of_host(int me, int count) {
  sg4::Mailbox *request = sg4::Mailbox::by_name("request"), *answer = sg4::Mailbox::by_name("answer");
  static int word;
  for (double size : sizes)
    for (int i = 0; i < count; i++)
      if (me == 0) {
        request->put(&word, (uint64_t)size);
        answer->get<int>();
      } else {
        request->get<int>();
        answer->put(&word, 32);
      }
}
static double put_ack(int count) {
  for (double size; scanf("%lf", &size) == 1;) sizes.push_back(size);
  auto *zone = sg4::create_full_zone("pair");
  const auto *link = zone->create_split_duplex_link("l", link_bytes_per_s)->set_latency(1e-6)->seal();
  for (int i = 0; i < 2; i++) host.push_back(zone->create_host("h" + std::to_string(i), 1e9)->seal());
  zone->add_route(host[0]->get_netpoint(), host[1]->get_netpoint(), nullptr, nullptr,
                  {{link, sg4::LinkInRoute::Direction::UP}}, true);
  zone->seal();
  for (int i = 0; i < 2; i++) sg4::Actor::create("a", host[(size_t)i], [=] { puts_of_host(i, count); });
  return (double)sizes.size() * count;
}

int main(int argc, char **argv) {
  sg4::Engine e(&argc, argv);
  for (const char *setting : {"network/model:CM02", "network/crosstraffic:0", "contexts/factory:raw"})
    sg4::Engine::set_config(std::string(setting));
  const std::string what = argc > 1 ? argv[1] : "";
  double operations = 0;
  if (what == "flows" && argc == 4) operations = flows((unsigned)atoi(argv[2]), atoi(argv[3]), false);
  if (what == "puts" && argc == 4) operations = flows((unsigned)atoi(argv[2]), atoi(argv[3]), true);
  if (what == "dense" && argc == 5) operations = dense((unsigned)atoi(argv[2]), atoi(argv[3]), atof(argv[4]));
  if (what == "put_ack" && argc == 3) operations = put_ack(atoi(argv[2]));
  if (operations <= 0) return fprintf(stderr, "usage: %s flows K ROUNDS | puts K ROUNDS | dense K FLOWS BYTES | put_ack COUNT\n", argv[0]), 2;
  const double start_s = cpu_s();
  e.run();
  printf("%.0f %.9f %.9f\n", operations, cpu_s() - start_s, sg4::Engine::get_clock());
  return 0;
}
