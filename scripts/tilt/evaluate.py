"""Evaluates a Tiltfile with builtins that only record their calls, and prints the calls as JSON.

It fails like Tilt for a Tiltfile that Starlark can't parse, for an unknown builtin and for an unknown argument.
"""
import json
import os
import sys

import starlark
import yaml

SIGNATURES = {
    'docker_build': "ref, context, build_args={}, dockerfile='Dockerfile', dockerfile_contents='', live_update=[], "
    "match_in_env_vars=False, ignore=[], only=[], entrypoint=[], target='', ssh='', network='', secret='', "
    "extra_tag='', container_args=None, cache_from=[], pull=False, platform='', extra_hosts=[]",
    'sync': 'local_path, remote_path',
    'run': 'cmd, trigger=[], echo_off=False',
    'fall_back_on': 'files',
    'k8s_yaml': 'yaml, allow_duplicates=False',
    'helm': "pathToChartDir, name='', namespace='', values=[], set=[], kube_version='', skip_crds=False",
    'filter_yaml': 'yaml, labels=None, name=None, namespace=None, kind=None, api_version=None',
    'k8s_resource': "workload='', new_name='', port_forwards=[], extra_pod_selectors=[], trigger_mode=None, "
    "resource_deps=[], objects=[], auto_init=True, pod_readiness='', links=[], labels=[], discovery_strategy=''",
    'local_resource': "name, cmd='', deps=None, trigger_mode=None, resource_deps=[], ignore=[], auto_init=True, "
    "serve_cmd='', cmd_bat='', serve_cmd_bat='', allow_parallel=False, links=[], labels=[], env={}, serve_env={}, "
    "readiness_probe=None, dir='', serve_dir=''",
    'local': "command, quiet=False, command_bat='', echo_off=False, env={}, dir='', stdin=None",
}


# Results of builtins that are passed on to other builtins. `filter_yaml` returns the matching objects and the others.
RESULTS = {
    'helm': lambda arguments: 'the chart',
    'filter_yaml': lambda arguments: ['chosen of ' + str(arguments['yaml']), 'the rest of ' + str(arguments['yaml'])],
}


def noting(name, signature, calls):
    """Returns a builtin with a signature that records its arguments."""
    def note(arguments):
        calls.append({'builtin': name, **arguments})
        return RESULTS.get(name, lambda _: None)(arguments)

    scope = {'note': note}
    exec(f'def {name}({signature}):\n    return note(dict(locals()))', scope)
    return scope[name]


def evaluate(path):
    dialect = starlark.Dialect.extended()
    dialect.enable_top_level_stmt = True
    calls = []
    module = starlark.Module()
    for name, signature in SIGNATURES.items():
        module.add_callable(name, noting(name, signature, calls))
    folder = os.path.dirname(os.path.abspath(path))

    def read_yaml(file):
        with open(os.path.join(folder, file), encoding='utf-8') as stream:
            return yaml.safe_load(stream)

    module.add_callable('read_yaml', read_yaml)
    module['TRIGGER_MODE_MANUAL'] = 1
    with open(path, encoding='utf-8') as stream:
        syntax = starlark.parse(path, stream.read(), dialect=dialect)
    starlark.eval(module, syntax, starlark.Globals.standard())
    return calls


try:
    print(json.dumps(evaluate(sys.argv[1])))
except Exception as error:  # whatever Starlark or a builtin finds
    sys.exit(str(error).strip())
