// How much a value and its two neighbours count.
#define CENTRE 0.5f
#define SIDE 0.25f
