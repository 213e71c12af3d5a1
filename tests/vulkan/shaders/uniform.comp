#version 450
// Has a binding that kernels do not take.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer To { uint to[]; };
layout(set = 0, binding = 1) uniform From { uint from; };

void main() {
  to[0] = from;
}
