// `npm run test:tilt`: evaluates the Tiltfile and compares it with what the chart renders for development. Every image
// has to be built, every workload named and grouped, and every copied folder has to exist. Ends with `N passed, N
// failed`.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { root } from '../build.mjs';
import { ofKind, parse, pods } from '../chart/objects.mjs';
import { CHART, run, template, toolFolder } from '../chart/tools.mjs';
import { openTally } from '../tally.mjs';

const TILTFILE = join(root, 'Tiltfile');
const EVALUATE = join(import.meta.dirname, 'evaluate.py');
const { check, refuses, end } = openTally();

const python = await toolFolder('starlark');
const { calls, error } = await evaluate(TILTFILE);
check('the Tiltfile is valid', error === undefined ? [] : [error]);
if (calls !== undefined) await compare(calls);
const text = readFileSync(TILTFILE, 'utf8');
const control = await evaluateText(text);
check('the Tiltfile is valid elsewhere', control.error === undefined ? [] : [control.error]);
for (const broken of [text.replace('labels =', 'label ='), text.replace('k8s_yaml(', 'kube_yaml('), `${text})`]) {
  const refused = await evaluateText(broken);
  refuses('the Tiltfile is valid', refused.error === undefined ? [] : [refused.error]);
}
end();

async function compare(all) {
  const of = (builtin) => all.filter((call) => call.builtin === builtin);
  const rendered = parse(await template([join(CHART, 'values/dev.yaml')]));
  const hooks = rendered.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook']?.includes('test'));
  const objects = rendered.filter((object) => !hooks.includes(object));
  const filter = of('filter_yaml').find(({ yaml }) => yaml === 'the chart');
  const left = rendered.filter(({ kind }) => filter === undefined || !new RegExp(filter.kind, 'i').test(kind));
  check(
    'the chart is deployed',
    of('k8s_yaml').some(({ yaml }) => yaml === 'the rest of the chart') ? [] : ['it is not'],
  );
  check(
    'the pods of `helm test` are not deployed, and all else is',
    rendered.filter((object) => left.includes(object) === hooks.includes(object)).map(({ metadata }) => metadata.name),
  );
  const servers = parse(readFileSync(join(root, 'tilt/servers.yaml'), 'utf8'));
  const { services } = parseYaml(readFileSync(join(CHART, 'mesh.yaml'), 'utf8'));
  const built = new Set(of('docker_build').map(({ ref }) => ref));
  const wanted = new Set(pods(objects).map(({ spec }) => spec.containers[0].image.replace(/:[^:]+$/, '')));
  check(
    'every image is built',
    [...wanted].filter((image) => !built.has(image)),
  );
  check(
    'no image is built for nothing',
    [...built].filter((image) => !wanted.has(image)),
  );
  const workloads = [...objects, ...servers].filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind));
  const named = of('k8s_resource');
  const names = new Set(named.map(({ workload }) => workload));
  check(
    'every workload is named',
    workloads.map(({ metadata }) => metadata.name).filter((name) => !names.has(name)),
  );
  check(
    'every resource is in a group',
    [...named, ...of('local_resource')]
      .filter(({ labels }) => labels.length !== 1)
      .map(({ name, workload }) => name ?? workload),
  );
  const gateway = named.find(({ workload }) => workload === 'commonplace-gateway');
  check('the HTTP API is forwarded', gateway?.port_forwards.join() === '8080:8080' ? [] : ['it is not']);
  check(
    'every service is in the mesh',
    Object.keys(services).filter((name) => !names.has(`commonplace-${name}`)),
  );
  check(
    'what is copied is there',
    of('sync')
      .map(({ local_path: path }) => path)
      .filter((path) => !existsSync(join(root, path))),
  );
  const touched = (path) => of('run').some(({ cmd }) => cmd.includes(` ${path.replace(/src$/, 'tsconfig.json')} `));
  check(
    'what is copied is compiled, whenever it was saved',
    of('sync')
      .map(({ local_path: path }) => path)
      .filter((path) => !touched(path)),
  );
  const secret = ofKind(parse((await run(process.execPath, [join(root, 'tilt/secret.mjs')])).stdout), 'Secret')[0];
  const { secrets } = parseYaml(readFileSync(join(CHART, 'values/dev.yaml'), 'utf8'));
  check(
    'the Secret is the one that the values name',
    secret?.metadata.name === secrets.existingSecret ? [] : ['it is not'],
  );
  const button = of('local_resource').find(({ cmd }) => cmd.includes('load-handbook'));
  const script = /node (\S+)/.exec(button?.cmd ?? '')?.[1];
  check(
    'a button loads the handbook',
    script && existsSync(join(root, script)) && !button.auto_init ? [] : ['there is none'],
  );
}

async function evaluateText(tiltfile) {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-tilt-'));
  try {
    const file = join(folder, 'Tiltfile');
    writeFileSync(file, tiltfile.replace("'charts/", `'${dirname(TILTFILE)}/charts/`));
    return await evaluate(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function evaluate(file) {
  const { code, stdout, stderr } = await run('python3', [EVALUATE, file], {
    env: { ...process.env, PYTHONPATH: python },
  });
  return code === 0 ? { calls: JSON.parse(stdout) } : { error: stderr.trim() };
}
