// What cuda::std has is in std, too.
#pragma once
namespace cuda { namespace std {} }
namespace std { using namespace ::cuda::std; }
