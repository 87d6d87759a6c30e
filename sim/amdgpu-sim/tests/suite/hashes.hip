// Hashes and generators with published test vectors; searching; a hash table.

__constant__ unsigned sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned rotate(unsigned x, int n) { return x >> n | x << (32 - n); }

// The byte of a padded message: the text, 0x80, zeros, the length in bits.
__device__ unsigned char padded(const unsigned char* text, unsigned length, unsigned at, unsigned total, bool big) {
    if (at < length) return text[at];
    if (at == length) return 0x80;
    if (at < total - 8) return 0;
    unsigned k = at - (total - 8);
    unsigned long long bits = 8ull * length;
    return (unsigned char)(bits >> (8 * (big ? 7 - k : k)));
}

// Each item hashes the first `length` bytes of the text, `length` being its own number.
extern "C" __global__ void sha256(const unsigned char* text, unsigned* out, unsigned n) {
    unsigned length = blockIdx.x * blockDim.x + threadIdx.x;
    if (length >= n) return;
    unsigned h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned total = (length + 9 + 63) / 64 * 64;
    for (unsigned block = 0; block < total; block += 64) {
        unsigned w[64];
        for (int i = 0; i < 16; i++) {
            w[i] = 0;
            for (int b = 0; b < 4; b++) w[i] = w[i] << 8 | padded(text, length, block + 4 * i + b, total, true);
        }
        for (int i = 16; i < 64; i++) {
            unsigned s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
            unsigned s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        unsigned v[8];
        for (int i = 0; i < 8; i++) v[i] = h[i];
        for (int i = 0; i < 64; i++) {
            unsigned s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
            unsigned t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + sha_k[i] + w[i];
            unsigned s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
            unsigned t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            v[7] = v[6], v[6] = v[5], v[5] = v[4], v[4] = v[3] + t1, v[3] = v[2], v[2] = v[1], v[1] = v[0], v[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++) h[i] += v[i];
    }
    for (int i = 0; i < 8; i++) out[8 * length + i] = h[i];
}

// MD5, its constants computed from the sine, as RFC 1321 defines them.
extern "C" __global__ void md5(const unsigned char* text, unsigned* out, unsigned n) {
    unsigned length = blockIdx.x * blockDim.x + threadIdx.x;
    if (length >= n) return;
    const int shift[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    unsigned h[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    unsigned total = (length + 9 + 63) / 64 * 64;
    for (unsigned block = 0; block < total; block += 64) {
        unsigned m[16];
        for (int i = 0; i < 16; i++) {
            m[i] = 0;
            for (int b = 3; b >= 0; b--) m[i] = m[i] << 8 | padded(text, length, block + 4 * i + b, total, false);
        }
        unsigned a = h[0], b = h[1], c = h[2], d = h[3];
        for (int i = 0; i < 64; i++) {
            unsigned f;
            int g;
            if (i < 16) f = (b & c) | (~b & d), g = i;
            else if (i < 32) f = (d & b) | (~d & c), g = (5 * i + 1) & 15;
            else if (i < 48) f = b ^ c ^ d, g = (3 * i + 5) & 15;
            else f = c ^ (b | ~d), g = 7 * i & 15;
            unsigned k = (unsigned)(fabs(sin(i + 1.0)) * 4294967296.0);
            f += a + k + m[g];
            a = d, d = c, c = b;
            b += rotate(f, 32 - shift[i >> 4][i & 3]);
        }
        h[0] += a, h[1] += b, h[2] += c, h[3] += d;
    }
    for (int i = 0; i < 4; i++) out[4 * length + i] = h[i];
}

// Philox 4x32-10 of Salmon and others, "Parallel random numbers: as easy as 1, 2, 3".
extern "C" __global__ void philox(const uint4* counters, const uint2* keys, uint4* out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 c = counters[i];
    uint2 k = keys[i];
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xd2511f53u, c.x), low0 = 0xd2511f53u * c.x;
        unsigned high1 = __umulhi(0xcd9e8d57u, c.z), low1 = 0xcd9e8d57u * c.z;
        c = make_uint4(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
        k.x += 0x9e3779b9u;
        k.y += 0xbb67ae85u;
    }
    out[i] = c;
}

// CRC-32, bit by bit, of the first bytes.
extern "C" __global__ void crc32(const unsigned char* text, unsigned* out, unsigned n) {
    unsigned length = blockIdx.x * blockDim.x + threadIdx.x;
    if (length >= n) return;
    unsigned crc = ~0u;
    for (unsigned i = 0; i < length; i++) {
        crc ^= text[i];
        for (int b = 0; b < 8; b++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    out[length] = ~crc;
}

// Where a word occurs; the places in no order, and how many.
extern "C" __global__ void search(const char* text, unsigned n, const char* word, unsigned length, unsigned* places, unsigned* count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + length > n) return;
    for (unsigned k = 0; k < length; k++) if (text[i + k] != word[k]) return;
    places[atomicAdd(count, 1u)] = i;
}

// A table with open addressing: keys are put in by compare and swap, values added up.
extern "C" __global__ void insert(const unsigned* in, unsigned* keys, unsigned* values, unsigned mask, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = in[i], slot = (key * 2654435761u) >> 7 & mask;
    for (;;) {
        unsigned seen = atomicCAS(&keys[slot], 0xffffffffu, key);
        if (seen == 0xffffffffu || seen == key) break;
        slot = (slot + 1) & mask;
    }
    atomicAdd(&values[slot], i + 1);
}
