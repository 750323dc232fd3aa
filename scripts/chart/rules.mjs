// Lists the rules for everything that the chart renders. A rule's `check` returns its faults, one line each. Its
// `broken` breaks a good rendering, so that each run verifies that the rule refuses something.
import { networkRules } from './rules/network.mjs';
import { podRules } from './rules/pods.mjs';
import { wiringRules } from './rules/wiring.mjs';

export const rules = [...podRules, ...networkRules, ...wiringRules];
