#include "kvcast/base/planted.h"

#ifdef KVCAST_PLANTED_BUGS
kvcast::PlantedBug kvcast::planted_bug = PlantedBug::kNone;
#endif
