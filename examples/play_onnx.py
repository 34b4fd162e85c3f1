#!/usr/bin/env python3
"""What the network in a policy's ONNX file answers, where neither onnxruntime nor onnx 1.13 is at hand.

    examples/play_onnx.py policy.onnx '[[0.5, 0.1], [-0.5, 0.1]]'

It needs numpy and onnx of any version (Debian: python3-onnx). Operators: https://onnx.ai/onnx/operators/.
"""
import json
import sys

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper


def gemm(a, b, c, alpha=1.0, beta=1.0, transA=0, transB=0):
    return alpha * (a.T if transA else a) @ (b.T if transB else b) + beta * c


OPERATORS = {"Gemm": gemm, "Relu": lambda x: np.maximum(x, 0), "Tanh": np.tanh}


def play(model, states):
    """The first output of MODEL for the rows of STATES."""
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    values[model.graph.input[0].name] = np.asarray(states, "f4")
    for node in model.graph.node:
        options = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        values[node.output[0]] = OPERATORS[node.op_type](*[values[name] for name in node.input], **options)
    return values[model.graph.output[0].name]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(json.dumps(play(onnx.load(sys.argv[1]), json.loads(sys.argv[2])).tolist()))
