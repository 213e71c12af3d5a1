#version 450
// Keeps the device busy: each turn needs the one before.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Sum { uint sum[]; };
layout(push_constant) uniform Turns { uint turns; };

void main() {
  uint n = sum[0];
  for (uint i = 0; i < turns; i++) n = n * n + 1013904223u;
  sum[0] = n;
}
