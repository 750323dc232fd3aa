// What has to hold of everything that the chart renders. A rule gives what is wrong, one line each; `broken` breaks a
// good rendering, so that each run sees the rule refuse something.
import { networkRules } from './rules/network.mjs';
import { podRules } from './rules/pods.mjs';
import { wiringRules } from './rules/wiring.mjs';

export const rules = [...podRules, ...networkRules, ...wiringRules];
