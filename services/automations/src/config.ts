import { defineSettings, type Values, wholeNumber } from '@commonplace/kit/config';
import { SECRETS_KEY } from '@commonplace/kit/secrets';
import { OUTGOING_SETTINGS } from '@commonplace/platform/settings';

export const config = defineSettings({
  ...OUTGOING_SETTINGS,
  secretsKey: SECRETS_KEY,
  automationWorkers: wholeNumber(16, [0, 1000], 'runs of automations that this process works on at the same time'),
  automationRunDays: wholeNumber(30, [1, 3650], 'days that a run of an automation is kept after its end'),
  automations: wholeNumber(200, [1, 100_000], 'maximum automations of one workspace'),
  automationHookBytes: wholeNumber(
    1_048_576,
    [1024, 8_388_608],
    'maximum bytes of the body of a webhook that starts an automation',
  ),
  automationInputBytes: wholeNumber(
    262_144,
    [1024, 8_388_608],
    'maximum bytes of the input with which a person or a schedule starts an automation or an agent',
  ),
  automationQueue: wholeNumber(
    1_000,
    [1, 1_000_000],
    'maximum waiting runs of one automation; further ones are skipped',
  ),
  automationFailures: wholeNumber(20, [1, 10_000], 'consecutive failed runs after which an automation is switched off'),
  schedules: wholeNumber(200, [1, 100_000], 'maximum schedules of one workspace'),
  scheduleFireDays: wholeNumber(30, [1, 3650], 'days that the outcome of a schedule slot is kept'),
  workItems: wholeNumber(100_000, [1, 10_000_000], 'maximum work items of one workspace'),
  workItemChildren: wholeNumber(200, [1, 1_000], 'maximum work items directly below one work item'),
  workItemDepth: wholeNumber(8, [1, 32], 'maximum nesting depth of work items'),
});

export type Settings = Values<typeof config>;
