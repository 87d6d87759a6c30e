// Arguments of mixed sizes, and a struct by value. By C's rules `first` is at offset 0, `v` at 4, `last` at 16.
struct Vec3 {
    float x, y, z;
};

extern "C" __global__ void mixed(int first, struct Vec3 v, int last, double *out, unsigned char tag, short small,
                                 double big)
{
    out[0] = first;
    out[1] = v.x;
    out[2] = v.y;
    out[3] = v.z;
    out[4] = last;
    out[5] = tag;
    out[6] = small;
    out[7] = big;
}
