// SPDX-License-Identifier: GPL-2.0-only
/*
 * ns-3's side of scripts/compare-ns3: bulk flows over one bottleneck, and one line of JSON that tells of them. The other side
 * is crates/sim/examples/dumbbell.rs, with the same arguments and the same line.
 *
 * The bottleneck's queue is that of its device, in packets, without a queue discipline above it; marking for DCTCP is RED with
 * both thresholds at K and no averaging, as ns-3's own DCTCP example has it. Access links are 20 times as fast.
 */
#include <sys/resource.h>

#include <chrono>
#include <iostream>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

struct Arguments {
	std::string algorithm = "TcpLinuxReno";
	double mbit = 10;
	double rttMs = 40;
	uint32_t bufferPkts = 50;
	uint32_t flows = 1;
	double seconds = 100;
	double warmup = 20;
	double lossPpm = 0;
	uint32_t markAbovePkts = 0;
};

/* Time average of a flow's window, and how often it was reduced */
struct Watch {
	double cwndPkts = 10;
	double since = 0;
	double sum = 0;
	uint32_t reductions = 0;
};

const uint32_t SEGMENT_BYTES = 1448;
std::vector<Watch> g_watches;
double g_warmup;

void Account(Watch &watch)
{
	double now = Simulator::Now().GetSeconds();

	if (now > g_warmup)
		watch.sum += watch.cwndPkts * (now - std::max(watch.since, g_warmup));
	watch.since = now;
}

void CwndChanged(uint32_t flow, uint32_t, uint32_t bytes)
{
	Account(g_watches[flow]);
	g_watches[flow].cwndPkts = double(bytes) / SEGMENT_BYTES;
}

void StateChanged(uint32_t flow, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
{
	bool reduces = state == TcpSocketState::CA_RECOVERY || state == TcpSocketState::CA_LOSS || state == TcpSocketState::CA_CWR;

	if (reduces && Simulator::Now().GetSeconds() > g_warmup)
		g_watches[flow].reductions++;
}

void Attach(uint32_t flow, Ptr<Application> application)
{
	Ptr<Socket> socket = DynamicCast<BulkSendApplication>(application)->GetSocket();

	socket->TraceConnectWithoutContext("CongestionWindow", MakeBoundCallback(&CwndChanged, flow));
	socket->TraceConnectWithoutContext("CongState", MakeBoundCallback(&StateChanged, flow));
}

void SetDefaults(const Arguments &a)
{
	Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + a.algorithm)));
	Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpPrrRecovery::GetTypeId()));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
	Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 28));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 28));
	Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
	Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
	if (a.markAbovePkts > 0)
		Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
}

void InstallMarking(const Arguments &a, NetDeviceContainer bottleneck)
{
	TrafficControlHelper control;
	QueueSize limit(QueueSizeUnit::PACKETS, a.bufferPkts);

	control.SetRootQueueDisc("ns3::RedQueueDisc", "LinkBandwidth", DataRateValue(DataRate(uint64_t(a.mbit * 1e6))), "MinTh",
				 DoubleValue(a.markAbovePkts), "MaxTh", DoubleValue(a.markAbovePkts), "UseEcn", BooleanValue(true),
				 "QW", DoubleValue(1), "UseHardDrop", BooleanValue(false), "MeanPktSize", UintegerValue(1500), "MaxSize",
				 QueueSizeValue(limit));
	control.Install(bottleneck.Get(0));
}

struct rusage Usage()
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage;
}

double CpuSeconds()
{
	struct rusage usage = Usage();

	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

} // namespace

int main(int argc, char *argv[])
{
	Arguments a;
	CommandLine line;

	line.AddValue("algorithm", "type of socket", a.algorithm);
	line.AddValue("mbit", "bottleneck", a.mbit);
	line.AddValue("rtt-ms", "without queues", a.rttMs);
	line.AddValue("buffer", "packets", a.bufferPkts);
	line.AddValue("flows", "bulk flows", a.flows);
	line.AddValue("seconds", "to simulate", a.seconds);
	line.AddValue("warmup", "of these, not counted", a.warmup);
	line.AddValue("loss-ppm", "random loss after the bottleneck", a.lossPpm);
	line.AddValue("mark-above", "mark from this queue on; 0 = never", a.markAbovePkts);
	line.Parse(argc, argv);
	SetDefaults(a);
	g_warmup = a.warmup;
	g_watches.resize(a.flows);

	NodeContainer routers;
	routers.Create(2);
	NodeContainer senders, receivers;
	senders.Create(a.flows);
	receivers.Create(a.flows);
	InternetStackHelper stack;
	stack.InstallAll();

	PointToPointHelper middle, edge;
	middle.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(a.mbit * 1e6))));
	middle.SetChannelAttribute("Delay", TimeValue(Seconds(a.rttMs * 0.4e-3)));
	QueueSize deviceQueue(QueueSizeUnit::PACKETS, a.markAbovePkts > 0 ? 1 : a.bufferPkts);
	middle.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(deviceQueue));
	edge.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(a.mbit * 20e6))));
	edge.SetChannelAttribute("Delay", TimeValue(Seconds(a.rttMs * 0.05e-3)));
	edge.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, 1000000)));

	NetDeviceContainer bottleneck = middle.Install(routers);
	Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
	addresses.Assign(bottleneck);
	std::vector<Ipv4Address> to;
	TrafficControlHelper control;
	for (uint32_t i = 0; i < a.flows; i++) {
		addresses.NewNetwork();
		NetDeviceContainer left = edge.Install(senders.Get(i), routers.Get(0));
		addresses.Assign(left);
		addresses.NewNetwork();
		NetDeviceContainer right = edge.Install(routers.Get(1), receivers.Get(i));
		to.push_back(addresses.Assign(right).GetAddress(1));
		control.Uninstall(left);
		control.Uninstall(right);
	}
	control.Uninstall(bottleneck);
	if (a.markAbovePkts > 0)
		InstallMarking(a, bottleneck);
	if (a.lossPpm > 0) {
		Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
		errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
		errors->SetRate(a.lossPpm * 1e-6);
		bottleneck.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
	}
	Ipv4GlobalRoutingHelper::PopulateRoutingTables();

	std::vector<Ptr<PacketSink>> sinks;
	for (uint32_t i = 0; i < a.flows; i++) {
		PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
		sinks.push_back(DynamicCast<PacketSink>(sink.Install(receivers.Get(i)).Get(0)));
		BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to[i], 5000));
		source.SetAttribute("MaxBytes", UintegerValue(0));
		source.SetAttribute("SendSize", UintegerValue(SEGMENT_BYTES));
		Ptr<Application> application = source.Install(senders.Get(i)).Get(0);
		Time start = MilliSeconds(i * 10);
		application->SetStartTime(start);
		Simulator::Schedule(start + MicroSeconds(1), &Attach, i, application);
	}

	std::vector<uint64_t> before(a.flows);
	Simulator::Stop(Seconds(a.warmup));
	auto begin = std::chrono::steady_clock::now();
	double cpuBegin = CpuSeconds();
	Simulator::Run();
	for (uint32_t i = 0; i < a.flows; i++)
		before[i] = sinks[i]->GetTotalRx();
	Simulator::Stop(Seconds(a.seconds - a.warmup));
	Simulator::Run();
	double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
	double cpu = CpuSeconds() - cpuBegin;

	double length = a.seconds - a.warmup, sum = 0, squares = 0, cwnd = 0, packets = 0;
	uint32_t reductions = 0;
	for (uint32_t i = 0; i < a.flows; i++) {
		double rate = (sinks[i]->GetTotalRx() - before[i]) * 8.0 / length;
		Account(g_watches[i]);
		sum += rate;
		squares += rate * rate;
		cwnd += g_watches[i].sum / length;
		reductions += g_watches[i].reductions;
		packets += double(sinks[i]->GetTotalRx()) / SEGMENT_BYTES;
	}
	std::cout << "{\"goodput_mbit\": " << sum / 1e6 << ", \"cwnd_pkts\": " << cwnd / a.flows << ", \"reductions\": " << reductions
		  << ", \"jain\": " << sum * sum / (a.flows * squares) << ", \"pkts\": " << uint64_t(packets) << ", \"wall_s\": " << wall
		  << ", \"cpu_s\": " << cpu << ", \"memory_mb\": " << Usage().ru_maxrss / 1024.0 << "}" << std::endl;
	Simulator::Destroy();
	return 0;
}
