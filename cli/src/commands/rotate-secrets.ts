import { Command } from 'commander';
import { EXIT } from '../exit.js';
import { type Rotation, rotateSecrets } from '../rotate.js';
import { readPlaces } from '../settings.js';
import { answer, type Context, examples, progressOf } from './context.js';

export function rotateSecretsCommand(context: Context): Command {
  return new Command('rotate-secrets')
    .description(
      'Rotates the master key of the secrets that users have entrusted, in two runs with a restart in between. The first ' +
        'adds a new key in the data folder; the second re-encrypts every secret with it and removes the old key. If the ' +
        'key is in COMMONPLACE_SECRETS_KEY, add the new one there yourself, and run only the second step.',
    )
    .addHelpText(
      'after',
      examples([
        'commonplace rotate-secrets        # adds a new key; then restart the system',
        'commonplace rotate-secrets        # re-encrypts everything and removes the old key',
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
  if (stage === 'added')
    return ['A new key was added to secrets.key. Restart the system, then run this command again.'];
  if (unreadable.length > 0) {
    return [`No key decrypts ${unreadable.length} secrets, for example that of ${unreadable[0]}. All keys are kept.`];
  }
  const done = `${rewrapped} secrets were re-encrypted with the current key; no secret uses an older one.`;
  if (inSetting)
    return [done, `Remove the last ${spareKeys} from COMMONPLACE_SECRETS_KEY, and restart the services that read it.`];
  return [done, 'The old key was moved from secrets.key to secrets.key.former, which the next rotation replaces.'];
}
