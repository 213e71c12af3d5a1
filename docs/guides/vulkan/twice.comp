#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Numbers { uint x[]; };
layout(push_constant) uniform Constants { uint n; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < n) x[i] *= 2;
}
