// Prints what LCIO itself reads of a file, as JSON: of each event its parameters, and of each
// collection the sums of the members of its objects. Pointers are summed as 1 + the place of the
// object in its collection, 0 for null. lcio_sums FILE
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "EVENT/CalorimeterHit.h"
#include "EVENT/Cluster.h"
#include "EVENT/LCCollection.h"
#include "EVENT/LCEvent.h"
#include "EVENT/LCFloatVec.h"
#include "EVENT/LCGenericObject.h"
#include "EVENT/LCIntVec.h"
#include "EVENT/LCRelation.h"
#include "EVENT/LCRunHeader.h"
#include "EVENT/LCStrVec.h"
#include "EVENT/MCParticle.h"
#include "EVENT/RawCalorimeterHit.h"
#include "EVENT/ReconstructedParticle.h"
#include "EVENT/SimCalorimeterHit.h"
#include "EVENT/SimTrackerHit.h"
#include "EVENT/TPCHit.h"
#include "EVENT/Track.h"
#include "EVENT/TrackerData.h"
#include "EVENT/TrackerHitPlane.h"
#include "EVENT/TrackerHitZCylinder.h"
#include "EVENT/TrackerPulse.h"
#include "EVENT/TrackerRawData.h"
#include "EVENT/Vertex.h"
#include "IMPL/LCCollectionVec.h"
#include "MT/LCReader.h"

namespace {

using EVENT::LCObject;
using Sums = std::map<std::string, double>;
/// Place of each object in its collection, from 1 on.
std::map<const LCObject*, int> places;

int place(const LCObject* object) {
  const auto found = places.find(object);
  return found == places.end() ? 0 : found->second;
}
template <typename All>
void add_places(Sums& to, const char* name, const All& all) {
  to[name] += 0;
  for (const auto* each : all) {
    to[name] += place(each);
  }
}
template <typename All>
double total(const All& all) {
  double sum = 0;
  for (const auto value : all) {
    sum += value;
  }
  return sum;
}
template <typename T>
double total(const T* values, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += values[i];
  }
  return sum;
}
template <typename T>
void add_axes(Sums& to, const T* v, const char* x, const char* y, const char* z) {
  to[x] += v[0];
  to[y] += v[1];
  to[z] += v[2];
}
template <typename T>
void add_position(Sums& to, const T* object) {
  add_axes(to, object->getPosition(), "x", "y", "z");
}
template <typename T>
void add_cells(Sums& to, const T* object) {
  to["cellid0"] += object->getCellID0();
  to["cellid1"] += object->getCellID1();
}
template <typename T>
void add_ids(Sums& to, const T* object) {
  to["npid"] += static_cast<double>(object->getParticleIDs().size());
  for (const auto* id : object->getParticleIDs()) {
    to["pid_pdg"] += id->getPDG();
    to["pid"] += id->getLikelihood() + total(id->getParameters());
  }
}

void add(Sums& to, const EVENT::MCParticle* p) {
  to["pdg"] += p->getPDG();
  to["genstatus"] += p->getGeneratorStatus();
  to["simstatus"] += p->getSimulatorStatus();
  to["nparents"] += static_cast<double>(p->getParents().size());
  to["ndaughters"] += static_cast<double>(p->getDaughters().size());
  add_places(to, "parent_index1", p->getParents());
  add_places(to, "daughter_index1", p->getDaughters());
  to["color0"] += p->getColorFlow()[0];
  to["color1"] += p->getColorFlow()[1];
  to["energy"] += p->getEnergy();
  add_axes(to, p->getMomentum(), "px", "py", "pz");
  to["mass"] += p->getMass();
  to["charge"] += p->getCharge();
  to["time"] += p->getTime();
  add_axes(to, p->getVertex(), "vx", "vy", "vz");
  if ((static_cast<unsigned>(p->getSimulatorStatus()) >> 31U) != 0) {  // else it is a daughter's
    add_axes(to, p->getEndpoint(), "endx", "endy", "endz");
  }
  to["endpx"] += p->getMomentumAtEndpoint()[0];
  to["spinz"] += p->getSpin()[2];
}
void add(Sums& to, const EVENT::SimCalorimeterHit* h) {
  add_cells(to, h);
  add_position(to, h);
  to["energy"] += h->getEnergy();
  to["ncontrib"] += h->getNMCContributions();
  for (int i = 0; i < h->getNMCContributions(); ++i) {
    to["contrib_particle_index1"] += place(h->getParticleCont(i));
    to["contrib_energy"] += h->getEnergyCont(i);
    to["contrib_time"] += h->getTimeCont(i);
    to["contrib_length"] += h->getLengthCont(i);
    to["contrib_pdg"] += h->getPDGCont(i);
    to["contrib_stepx"] += h->getStepPosition(i)[0];
  }
}
void add(Sums& to, const EVENT::SimTrackerHit* h) {
  add_cells(to, h);
  add_position(to, h);
  to["quality"] += h->getQuality();
  to["particle_index1"] += place(h->getMCParticle());
  to["edep"] += h->getEDep();
  to["time"] += h->getTime();
  add_axes(to, h->getMomentum(), "px", "py", "pz");
  to["pathlength"] += h->getPathLength();
}
void add(Sums& to, const EVENT::RawCalorimeterHit* h) {
  add_cells(to, h);
  to["amplitude"] += h->getAmplitude();
  to["timestamp"] += h->getTimeStamp();
}
void add(Sums& to, const EVENT::CalorimeterHit* h) {
  add_cells(to, h);
  add_position(to, h);
  to["type"] += h->getType();
  to["rawhit_index1"] += place(h->getRawHit());
  to["energy"] += h->getEnergy();
  to["energyerror"] += h->getEnergyError();
  to["time"] += h->getTime();
}
void add_hit(Sums& to, const EVENT::TrackerHit* h) {
  add_cells(to, h);
  add_position(to, h);
  to["type"] += h->getType();
  to["quality"] += h->getQuality();
  to["nraw"] += static_cast<double>(h->getRawHits().size());
  add_places(to, "raw_index1", h->getRawHits());
  to["edep"] += h->getEDep();
  to["edeperror"] += h->getEDepError();
  to["time"] += h->getTime();
}
void add(Sums& to, const EVENT::TrackerHit* h) {
  add_hit(to, h);
  to["cov"] += total(h->getCovMatrix());
}
void add(Sums& to, const EVENT::TrackerHitPlane* h) {
  add_hit(to, h);
  to["u0"] += h->getU()[0];
  to["u1"] += h->getU()[1];
  to["v0"] += h->getV()[0];
  to["v1"] += h->getV()[1];
  to["du"] += h->getdU();
  to["dv"] += h->getdV();
}
void add(Sums& to, const EVENT::TrackerHitZCylinder* h) {
  add_hit(to, h);
  to["cx"] += h->getCenter()[0];
  to["cy"] += h->getCenter()[1];
  to["drphi"] += h->getdRPhi();
  to["dz"] += h->getdZ();
}
void add(Sums& to, const EVENT::TPCHit* h) {
  to["cellid"] += h->getCellID();
  to["quality"] += h->getQuality();
  to["nraw"] += h->getNRawDataWords();
  for (int i = 0; i < h->getNRawDataWords(); ++i) {
    to["raw"] += h->getRawDataWord(i);
  }
  to["time"] += h->getTime();
  to["charge"] += h->getCharge();
}
void add(Sums& to, const EVENT::TrackerRawData* d) {
  add_cells(to, d);
  to["time"] += d->getTime();
  to["nadc"] += static_cast<double>(d->getADCValues().size());
  for (const auto adc : d->getADCValues()) {
    to["adc"] += static_cast<std::int16_t>(adc);
  }
}
void add(Sums& to, const EVENT::TrackerData* d) {
  add_cells(to, d);
  to["time"] += d->getTime();
  to["ncharge"] += static_cast<double>(d->getChargeValues().size());
  to["charge"] += total(d->getChargeValues());
}
void add(Sums& to, const EVENT::TrackerPulse* p) {
  add_cells(to, p);
  to["quality"] += p->getQuality();
  to["data_index1"] += place(p->getTrackerData());
  to["time"] += p->getTime();
  to["charge"] += p->getCharge();
  to["cov"] += total(p->getCovMatrix());
}
void add(Sums& to, const EVENT::Track* t) {
  to["type"] += static_cast<std::int32_t>(t->getType());
  to["ndf"] += t->getNdf();
  to["nholes"] += t->getNholes();
  to["subdet"] += total(t->getSubdetectorHitNumbers());
  to["subdetholes"] += total(t->getSubdetectorHoleNumbers());
  add_places(to, "track_index1", t->getTracks());
  to["nhits"] += static_cast<double>(t->getTrackerHits().size());
  add_places(to, "hit_index1", t->getTrackerHits());
  to["chi2"] += t->getChi2();
  to["dedx"] += t->getdEdx();
  to["dedxerror"] += t->getdEdxError();
  to["rinner"] += t->getRadiusOfInnermostHit();
  to["nstates"] += static_cast<double>(t->getTrackStates().size());
  for (const auto* s : t->getTrackStates()) {
    to["location"] += s->getLocation();
    to["d0"] += s->getD0();
    to["phi"] += s->getPhi();
    to["omega"] += s->getOmega();
    to["z0"] += s->getZ0();
    to["tanlambda"] += s->getTanLambda();
    to["cov"] += total(s->getCovMatrix());
    to["ref"] += total(s->getReferencePoint(), 3);
  }
}
void add(Sums& to, const EVENT::Cluster* c) {
  add_position(to, c);
  add_ids(to, c);
  to["type"] += c->getType();
  to["nshape"] += static_cast<double>(c->getShape().size());
  to["shape"] += total(c->getShape());
  add_places(to, "cluster_index1", c->getClusters());
  to["nhits"] += static_cast<double>(c->getCalorimeterHits().size());
  add_places(to, "hit_index1", c->getCalorimeterHits());
  to["weights"] += total(c->getHitContributions());
  to["energy"] += c->getEnergy();
  to["energyerror"] += c->getEnergyError();
  to["poserr"] += total(c->getPositionError());
  to["itheta"] += c->getITheta();
  to["iphi"] += c->getIPhi();
  to["direrr"] += total(c->getDirectionError());
  to["subdet"] += total(c->getSubdetectorEnergies());
}
void add(Sums& to, const EVENT::ReconstructedParticle* p) {
  add_ids(to, p);
  to["type"] += p->getType();
  for (std::size_t i = 0; i < p->getParticleIDs().size(); ++i) {
    if (p->getParticleIDs()[i] == p->getParticleIDUsed()) {
      to["pidused_index1"] += static_cast<double>(i) + 1;
    }
  }
  add_places(to, "particle_index1", p->getParticles());
  add_places(to, "track_index1", p->getTracks());
  add_places(to, "cluster_index1", p->getClusters());
  to["startvertex_index1"] += place(p->getStartVertex());
  add_axes(to, p->getMomentum(), "px", "py", "pz");
  to["energy"] += p->getEnergy();
  to["cov"] += total(p->getCovMatrix());
  to["mass"] += p->getMass();
  to["charge"] += p->getCharge();
  to["refz"] += p->getReferencePoint()[2];
  to["goodness"] += p->getGoodnessOfPID();
}
void add(Sums& to, const EVENT::Vertex* v) {
  add_position(to, v);
  to["primary"] += v->isPrimary() ? 1 : 0;
  to["algotype_strlen"] += static_cast<double>(v->getAlgorithmType().size());
  to["nparam"] += static_cast<double>(v->getParameters().size());
  to["param"] += total(v->getParameters());
  to["particle_index1"] += place(v->getAssociatedParticle());
  to["chi2"] += v->getChi2();
  to["probability"] += v->getProbability();
  to["cov"] += total(v->getCovMatrix());
}
void add(Sums& to, const EVENT::LCRelation* r) {
  to["from_index1"] += place(r->getFrom());
  to["to_index1"] += place(r->getTo());
  to["weight"] += r->getWeight();
}
void add(Sums& to, const EVENT::LCGenericObject* o) {
  to["nint"] += o->getNInt();
  to["nfloat"] += o->getNFloat();
  to["ndouble"] += o->getNDouble();
  for (int i = 0; i < o->getNInt(); ++i) {
    to["ints"] += o->getIntVal(i);
  }
  for (int i = 0; i < o->getNFloat(); ++i) {
    to["floats"] += o->getFloatVal(i);
  }
  for (int i = 0; i < o->getNDouble(); ++i) {
    to["doubles"] += o->getDoubleVal(i);
  }
}
template <typename Vector>
void add_vector(Sums& to, const Vector* v) {
  to["n"] += static_cast<double>(v->size());
  to["sum"] += total(*v);
}
void add(Sums& to, const EVENT::LCFloatVec* v) { add_vector(to, v); }
void add(Sums& to, const EVENT::LCIntVec* v) { add_vector(to, v); }
void add(Sums& to, const EVENT::LCStrVec* v) {
  to["n"] += static_cast<double>(v->size());
  for (const auto& text : *v) {
    for (const auto c : text) {
      to["bytesum"] += static_cast<unsigned char>(c);
    }
  }
}

template <typename T>
void add_as(Sums& to, const LCObject* object) {
  add(to, dynamic_cast<const T*>(object));
}
const std::map<std::string, std::function<void(Sums&, const LCObject*)>> types{
    {"MCParticle", add_as<EVENT::MCParticle>},
    {"SimCalorimeterHit", add_as<EVENT::SimCalorimeterHit>},
    {"SimTrackerHit", add_as<EVENT::SimTrackerHit>},
    {"RawCalorimeterHit", add_as<EVENT::RawCalorimeterHit>},
    {"CalorimeterHit", add_as<EVENT::CalorimeterHit>},
    {"TrackerHit", add_as<EVENT::TrackerHit>},
    {"TrackerHitPlane", add_as<EVENT::TrackerHitPlane>},
    {"TrackerHitZCylinder", add_as<EVENT::TrackerHitZCylinder>},
    {"TPCHit", add_as<EVENT::TPCHit>},
    {"TrackerRawData", add_as<EVENT::TrackerRawData>},
    {"TrackerData", add_as<EVENT::TrackerData>},
    {"TrackerPulse", add_as<EVENT::TrackerPulse>},
    {"Track", add_as<EVENT::Track>},
    {"Cluster", add_as<EVENT::Cluster>},
    {"ReconstructedParticle", add_as<EVENT::ReconstructedParticle>},
    {"Vertex", add_as<EVENT::Vertex>},
    {"LCRelation", add_as<EVENT::LCRelation>},
    {"LCGenericObject", add_as<EVENT::LCGenericObject>},
    {"LCFloatVec", add_as<EVENT::LCFloatVec>},
    {"LCIntVec", add_as<EVENT::LCIntVec>},
    {"LCStrVec", add_as<EVENT::LCStrVec>},
};

std::string quoted(const std::string& text) {
  std::string to = "\"";
  for (const auto c : text) {
    if (c == '"' || c == '\\') {
      to += '\\';
    }
    to += c;
  }
  return to + '"';
}
std::string as_text(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}
std::string as_text(const std::string& value) { return quoted(value); }

/// "NAME": VALUE, with commas between.
class Fields {
 public:
  Fields& add(const std::string& name, const std::string& json) {
    text_ += (text_.empty() ? "" : ",") + quoted(name) + ":" + json;
    return *this;
  }
  std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};
template <typename All>
std::string list(const All& all) {
  std::string text;
  for (const auto& each : all) {
    text += (text.empty() ? "" : ",") + as_text(each);
  }
  return "[" + text + "]";
}
std::string strings(const std::vector<std::string>& all) {
  std::string text;
  for (const auto& each : all) {
    text += (text.empty() ? "" : ",") + each;
  }
  return "[" + text + "]";
}

std::string parameters(const EVENT::LCParameters& of) {
  Fields ints, floats, doubles, texts;
  std::vector<std::string> names;
  for (const auto& name : of.getIntKeys(names)) {
    std::vector<int> values;
    ints.add(name, list(of.getIntVals(name, values)));
  }
  names.clear();
  for (const auto& name : of.getFloatKeys(names)) {
    std::vector<float> values;
    floats.add(name, list(of.getFloatVals(name, values)));
  }
  names.clear();
  for (const auto& name : of.getDoubleKeys(names)) {
    std::vector<double> values;
    doubles.add(name, list(of.getDoubleVals(name, values)));
  }
  names.clear();
  for (const auto& name : of.getStringKeys(names)) {
    std::vector<std::string> values;
    texts.add(name, list(of.getStringVals(name, values)));
  }
  return Fields{}
      .add("int", ints.object())
      .add("float", floats.object())
      .add("double", doubles.object())
      .add("string", texts.object())
      .object();
}

std::string collection(const std::string& name, const EVENT::LCCollection& of) {
  Sums sums;
  double index1 = 0;
  for (int i = 0; i < of.getNumberOfElements(); ++i) {
    index1 += place(of.getElementAt(i));
    if (!of.isSubset()) {
      types.at(of.getTypeName())(sums, of.getElementAt(i));
    }
  }
  Fields all;
  for (const auto& [key, value] : sums) {
    all.add(key, as_text(value));
  }
  return Fields{}
      .add("name", quoted(name))
      .add("type", quoted(of.getTypeName()))
      .add("n", std::to_string(of.getNumberOfElements()))
      .add("subset", of.isSubset() ? "true" : "false")
      .add("params", parameters(of.getParameters()))
      .add("sum", all.object())
      .add("index1_sum", as_text(index1))
      .object();
}

std::string event(const EVENT::LCEvent& of) {
  places.clear();
  const auto& names = *of.getCollectionNames();
  for (const auto& name : names) {
    const auto* each = of.getCollection(name);
    for (int i = 0; !each->isSubset() && i < each->getNumberOfElements(); ++i) {
      places[each->getElementAt(i)] = i + 1;
    }
  }
  std::vector<std::string> collections;
  for (const auto& name : names) {
    collections.push_back(collection(name, *of.getCollection(name)));
  }
  return Fields{}
      .add("run", std::to_string(of.getRunNumber()))
      .add("event", std::to_string(of.getEventNumber()))
      .add("timestamp", std::to_string(of.getTimeStamp()))
      .add("weight", as_text(of.getWeight()))
      .add("detector", quoted(of.getDetectorName()))
      .add("params", parameters(of.getParameters()))
      .add("collections", strings(collections))
      .object();
}

}  // namespace

int main(int, char** arguments) {
  std::vector<std::string> runs, events;
  MT::LCReader reader{MT::LCReader::directAccess};
  reader.open(arguments[1]);
  while (const auto run = reader.readNextRunHeader()) {
    runs.push_back(Fields{}
                       .add("run", std::to_string(run->getRunNumber()))
                       .add("detector", quoted(run->getDetectorName()))
                       .add("params", parameters(run->getParameters()))
                       .object());
  }
  reader.close();
  MT::LCReader again{MT::LCReader::directAccess};
  again.open(arguments[1]);
  while (const auto read = again.readNextEvent()) {
    events.push_back(event(*read));
  }
  std::printf("%s\n", Fields{}
                          .add("runs", strings(runs))
                          .add("n_events", std::to_string(again.getNumberOfEvents()))
                          .add("events", strings(events))
                          .object()
                          .c_str());
}
