"""Small networks on a CPU in numpy: the torch module stays the definition, these read and write its parameters.

    flat = FlatParameters(agent)                   # flat.values, flat.gradient: vectors; value_of, gradient_of by name
    actor = Mlp(flat, agent.actor, "actor")        # an nn.Sequential of Linear with Tanh or ReLU, bias everywhere
    adam = Adam(flat, eps=1e-5)

    noise = ppo_gradient.gumbel(generator, (num_steps, num_envs, n))                 # once per rollout
    action = ppo_gradient.sample_categorical(actor.infer(obs), noise[step])          # (num_envs,)
    old_logprob = ppo_gradient.categorical_log_prob(actor.infer(all_obs), actions)   # once per rollout

    logits = actor.forward(minibatch_obs)          # (rows, k); the next forward with as many rows overwrites it
    result = ppo_gradient.categorical(logits, actions, old_logprob, advantages, clip_coef=0.2, ent_coef=0.01)
    actor.backward(result.grad_logits)             # overwrites (does not add to) the network's part of flat.gradient
    grad, v_loss = ppo_gradient.value(critic.forward(minibatch_obs), returns, values, clip_coef=0.2, ...)
    critic.backward(grad)
    adam.step(learning_rate, max_norm=0.5)

`ppo_gradient.gaussian` and `dqn_gradient.td_loss` serve other policies; `adam.state()` / `adam.load()` a checkpoint.
A parameter that no `Mlp` covers (a log-std) gets its gradient by hand: `flat.gradient_of["actor_logstd"][...] = grad`.
`guarded` (guard.py) lets such a path stand in for the learner of an algorithm's file while it computes the same.
All arrays are float32; outputs are views of reused buffers, so copy what must outlive the next call.
"""

from cleanrl_worker.sdk.fast.networks.adam import Adam, clip_gradient_norm
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats
from cleanrl_worker.sdk.fast.networks.mlp import Mlp

__all__ = ["Adam", "FlatParameters", "Floats", "Mlp", "clip_gradient_norm"]
