// Checks the kubectl commands in documents. A command that affects many objects has to select those of the release.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../build.mjs';

const NOTES = 'charts/commonplace/templates/NOTES.txt';
/** Matches commands that change or end the objects that they name, or all objects of a kind. */
const CHANGES = /\b(scale|delete|rollout restart|rollout undo|drain|cordon|label|annotate|patch|set)\b/;
const KINDS = /\b(deployments?|statefulsets?|pods?|jobs?|pvc|persistentvolumeclaims?|secrets?|configmaps?)\b/g;

export async function checkCommands(check, refuses) {
  const pages = (await readdir(join(root, 'docs')))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`);
  const texts = await Promise.all(
    [...pages, NOTES].map(async (file) => [file, await readFile(join(root, file), 'utf8')]),
  );
  check(
    'commands in documents act on one release',
    texts.flatMap(([file, text]) => unselected(file, text)),
  );
  const wide = '`kubectl --namespace work scale deployment --all --replicas 0`';
  refuses('commands in documents act on one release', unselected('docs', wide));
}

/** Returns the kubectl commands that change all objects of a kind, including those of others. */
function unselected(file, text) {
  return [...text.replaceAll('\\\n', ' ').matchAll(/kubectl [^`\n]*/g)]
    .map(([command]) => command.replace(/#.*$/, '').trim())
    .filter((command) => CHANGES.test(command) && !isSelective(command))
    .map((command) => `${file}: ${command}`);
}

/** Returns whether a command selects by label, or names an object for each kind that it mentions. */
function isSelective(command) {
  if (/(-l|--selector)[ =]\S*app\.kubernetes\.io\/instance=/.test(command)) return true;
  if (/--all\b/.test(command)) return false;
  return [...command.matchAll(KINDS)].every(({ index, 0: kind }) =>
    /^(\/\S+| +[^-\s]\S*)/.test(command.slice(index + kind.length)),
  );
}
