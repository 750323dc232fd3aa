import { Command } from 'commander';
import { EXIT } from '../exit.js';
import { type Rotation, rotateSecrets } from '../rotate.js';
import { readPlaces } from '../settings.js';
import { answer, type Context, examples, progressOf } from './context.js';

/** Creates the command `commonplace rotate-secrets`. */
export function rotateSecretsCommand(context: Context): Command {
  return new Command('rotate-secrets')
    .description(
      'Gives what users entrust a new master key, in two runs with a restart between them: the first puts a new key before ' +
        'the one in the data folder, the second puts every secret under it and takes the old one out. Where the key is in ' +
        'COMMONPLACE_SECRETS_KEY, you put it there, and this does the rest.',
    )
    .addHelpText(
      'after',
      examples([
        'commonplace rotate-secrets        # a new key; now restart the system',
        'commonplace rotate-secrets        # everything is under it; the old key is gone',
      ]),
    )
    .action(async () => {
      const places = readPlaces(context.env);
      const setting = context.env.COMMONPLACE_SECRETS_KEY || undefined;
      const rotation = await rotateSecrets({ places, setting }, progressOf());
      answer(context, rotation, linesOf(rotation, setting !== undefined));
      if (rotation.unreadable.length > 0) context.exitCode = EXIT.failed;
    });
}

function linesOf({ stage, rewrapped, unreadable, spareKeys }: Rotation, inSetting: boolean): string[] {
  if (stage === 'added') return ['A new key is in secrets.key. Restart the system, then run this again.'];
  if (unreadable.length > 0) {
    return [`${unreadable.length} secrets open with none of the keys, first that of ${unreadable[0]}: all keys stay.`];
  }
  const done = `${rewrapped} secrets were put under the current key; none is under an older one.`;
  if (inSetting) return [done, `Take the last ${spareKeys} out of COMMONPLACE_SECRETS_KEY, and restart what reads it.`];
  return [done, 'The old key is out of secrets.key, and in secrets.key.former until the next rotation.'];
}
