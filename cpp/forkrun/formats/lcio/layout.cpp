#include <forkrun/formats/lcio/layout.hpp>

#include <array>
#include <bit>
#include <utility>

#include <forkrun/formats/lcio/layout_builder.hpp>

namespace forkrun::lcio {

namespace {

using To = LayoutBuilder;

void mc_particle(To& to) {
  to.tag().pointers("parents").integer("pdg").integer("generatorStatus");
  to.kept_integer("simulatorStatus").double_vector("vertex");
  if (to.since(1, 3)) {
    to.real("time");
  }
  to.vector("momentum").real("mass").real("charge");
  to.if_bit(31, [&] {
    to.double_vector("endpoint");
    if (to.since(2, 7)) {
      to.vector("momentumAtEndpoint");
    }
  });
  if (to.since(1, 52)) {
    to.vector("spin").integer("colorFlow", 2);
  }
}

void sim_calorimeter_hit(To& to) {
  to.integer("cellID0");
  if (to.bit(29) || to.is_version(0, 8)) {
    to.integer("cellID1");
  }
  to.real("energy");
  if (to.bit(31)) {
    to.vector("position");
  }
  to.list("contributions", [&] {
    to.pointer("particle").real("energy").real("time");
    if (!to.bit(28)) {
      return;
    }
    if (to.since(2, 11)) {
      to.real("length");
    }
    to.integer("pdg");
    if (to.since(1, 52)) {
      to.vector("stepPosition");
    }
  });
  if (to.since(1, 1)) {
    to.tag();
  }
}

void sim_tracker_hit(To& to) {
  to.integer("cellID0");
  if (to.bit(29) && to.since(1, 52)) {
    to.integer("cellID1");
  }
  to.double_vector("position").real("eDep").real("time").pointer("particle");
  if (to.bit(30)) {
    to.vector("momentum");
    if (to.since(1, 7)) {
      to.real("pathLength");
    }
  }
  if (to.since(2, 8)) {
    to.integer("quality");
  }
  if (to.since(1, 1)) {
    to.tag();
  }
}

void raw_calorimeter_hit(To& to) {
  to.integer("cellID0");
  if (to.bit(29) || to.is_version(0, 8)) {
    to.integer("cellID1");
  }
  to.integer("amplitude");
  if (to.bit(27)) {
    to.integer("timeStamp");
  }
  if (to.has_tag(28)) {
    to.tag();
  }
}

void calorimeter_hit(To& to) {
  to.integer("cellID0");
  if (to.bit(29) || to.is_version(0, 8)) {
    to.integer("cellID1");
  }
  to.real("energy");
  if (to.bit(26) && to.since(1, 10)) {
    to.real("energyError");
  }
  if (to.bit(27) && to.since(1, 3)) {
    to.real("time");
  }
  if (to.bit(31)) {
    to.vector("position");
  }
  if (to.since(1, 3)) {
    to.integer("type").pointer("rawHit");
  }
  if (to.has_tag(28)) {
    to.tag();
  }
}

void cell_ids_since_1_52(To& to) {
  if (to.since(1, 52)) {
    to.integer("cellID0");
    if (to.bit(31)) {
      to.integer("cellID1");
    }
  }
}

void tracker_hit(To& to) {
  cell_ids_since_1_52(to);
  if (to.since(1, 3)) {
    to.integer("type");
  }
  to.double_vector("position").real("covariance", 6).real("eDep");
  if (to.since(1, 13)) {
    to.real("eDepError");
  }
  to.real("time");
  if (to.since(1, 12)) {
    to.integer("quality");
  }
  to.list("rawHits", [&] { to.pointer(""); }, to.since(1, 3) ? 0 : 1);
  to.tag();
}

void end_of_hit_on_surface(To& to) {
  to.real("eDep").real("eDepError").real("time").integer("quality").pointers("rawHits").tag();
}

void tracker_hit_plane(To& to) {
  cell_ids_since_1_52(to);
  to.integer("type").double_vector("position").real("u", 2).real("v", 2).real("du").real("dv");
  end_of_hit_on_surface(to);
}

void tracker_hit_z_cylinder(To& to) {
  cell_ids_since_1_52(to);
  to.integer("type").double_vector("position").real("center", 2).real("drPhi").real("dz");
  end_of_hit_on_surface(to);
}

void tpc_hit(To& to) {
  to.integer("cellID").real("time").real("charge").integer("quality");
  if (to.bit(31)) {
    to.integers("rawData");
  }
  if (to.has_tag(30)) {
    to.tag();
  }
}

void cell_ids(To& to) {
  to.integer("cellID0");
  if (to.bit(31)) {
    to.integer("cellID1");
  }
}

void tracker_raw_data(To& to) {
  cell_ids(to);
  to.integer("time").shorts("adcs").tag();
}

void tracker_data(To& to) {
  cell_ids(to);
  to.real("time").reals("charges").tag();
}

void tracker_pulse(To& to) {
  cell_ids(to);
  to.real("time").real("charge");
  if (to.bit(30) && to.since(1, 13)) {
    to.real("covariance", 3);
  }
  to.integer("quality").pointer("trackerData").tag();
}

void track(To& to) {
  to.integer("type");
  to.list(
      "states",
      [&] {
        if (to.since(2, 0)) {
          to.integer("location");
        }
        to.real("d0").real("phi").real("omega").real("z0").real("tanLambda");
        to.real("covariance", 15).vector("referencePoint");
      },
      to.since(2, 0) ? 0 : 1);
  to.real("chi2").integer("ndf").real("dEdx").real("dEdxError");
  if (to.since(2, 22)) {
    to.integer("nHoles");
  }
  to.real("radiusOfInnermostHit").integers("subdetectorHitNumbers");
  if (to.since(2, 22)) {
    to.integers("subdetectorHoleNumbers");
  }
  to.pointers("tracks");
  if (to.bit(31)) {
    to.pointers("hits");
  }
  to.tag();
}

/// `can_be_used`: others point to them.
void particle_ids(To& to, bool can_be_used) {
  to.list("particleIDs", [&] {
    to.real("likelihood").integer("type").integer("pdg").integer("algorithm");
    to.list("parameters", [&] { to.real(""); });
    if (can_be_used) {
      to.tag();
    }
  });
}

void cluster(To& to) {
  to.integer("type").real("energy");
  if (to.since(1, 52)) {
    to.real("energyError");
  }
  to.vector("position").real("positionError", 6).real("iTheta").real("iPhi");
  to.real("directionError", 3).reals("shape", to.since(1, 3) ? 0 : 6);
  if (to.since(1, 3)) {
    particle_ids(to, false);
  } else {
    to.skip(3);
  }
  to.pointers("clusters");
  if (to.bit(31)) {
    to.list("hits", [&] { to.pointer("").real("weight"); });
  }
  to.reals("subdetectorEnergies").tag();
}

void reconstructed_particle(To& to) {
  to.integer("type").vector("momentum").real("energy").real("covariance", 10).real("mass");
  to.real("charge").vector("referencePoint");
  particle_ids(to, true);
  to.pointer("particleIDUsed").real("goodnessOfPID");
  to.pointers("particles").pointers("tracks").pointers("clusters");
  if (to.since(1, 8)) {
    to.pointer("startVertex");
  }
  to.tag();
}

void vertex(To& to) {
  to.flag("primary").integer("algorithmType").real("chi2").real("probability");
  to.vector("position").real("covariance", 6).reals("parameters");
  to.pointer("associatedParticle").tag();
}

void relation(To& to) {
  to.pointer("from").pointer("to");
  if (to.bit(31)) {
    to.real("weight", 1, std::bit_cast<std::uint32_t>(1.0F));
  }
}

void generic_object(To& to) { to.three_lists(to.bit(31)).tag(); }

void tag_since_1_3(To& to) {
  if (to.since(1, 3)) {
    to.tag();
  }
}

void int_vector(To& to) {
  to.integers("values");
  tag_since_1_3(to);
}

void float_vector(To& to) {
  to.reals("values");
  tag_since_1_3(to);
}

void text_vector(To& to) {
  to.texts("values");
  tag_since_1_3(to);
}

void reference(To& to) { to.pointer("index"); }

struct Described {
  std::string_view name;
  void (*describe)(To&);
};

/// In the order of `ObjectType`.
constexpr std::array types{
    Described{"MCParticle", mc_particle},
    Described{"SimCalorimeterHit", sim_calorimeter_hit},
    Described{"SimTrackerHit", sim_tracker_hit},
    Described{"RawCalorimeterHit", raw_calorimeter_hit},
    Described{"CalorimeterHit", calorimeter_hit},
    Described{"TrackerHit", tracker_hit},
    Described{"TrackerHitPlane", tracker_hit_plane},
    Described{"TrackerHitZCylinder", tracker_hit_z_cylinder},
    Described{"TPCHit", tpc_hit},
    Described{"TrackerRawData", tracker_raw_data},
    Described{"TrackerData", tracker_data},
    Described{"TrackerPulse", tracker_pulse},
    Described{"Track", track},
    Described{"Cluster", cluster},
    Described{"ReconstructedParticle", reconstructed_particle},
    Described{"Vertex", vertex},
    Described{"LCRelation", relation},
    Described{"LCGenericObject", generic_object},
    Described{"LCIntVec", int_vector},
    Described{"LCFloatVec", float_vector},
    Described{"LCStrVec", text_vector},
    Described{"", reference},
};

Members all_members(ObjectType type) {
  To to;
  types[static_cast<std::size_t>(type)].describe(to);
  return std::move(to).members();
}

}  // namespace

ObjectType object_type(std::string_view name) {
  for (std::size_t i = 0; i + 1 < types.size(); ++i) {
    if (types[i].name == name) {
      return ObjectType{static_cast<std::uint8_t>(i)};
    }
  }
  return ObjectType::none;
}

const Members& members_of(ObjectType type) {
  static const auto all = [] {
    std::array<Members, types.size()> found;
    for (std::size_t i = 0; i < types.size(); ++i) {
      found[i] = all_members(ObjectType{static_cast<std::uint8_t>(i)});
    }
    return found;
  }();
  return all.at(static_cast<std::size_t>(type));
}

Layout layout_of(ObjectType type, std::uint32_t version, std::uint32_t flag) {
  To to{members_of(type), version, flag};
  types.at(static_cast<std::size_t>(type)).describe(to);
  return to.finish();
}

}  // namespace forkrun::lcio
