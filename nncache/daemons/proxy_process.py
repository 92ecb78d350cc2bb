"""Run a proxy as a process: read what the start needs, and handle signals."""

from collections.abc import Callable
from functools import partial

from nncache.admin.settings import access_of
from nncache.clock import boottime
from nncache.coordination.sasl import login_of
from nncache.daemons.daemon import Signals, run_until_signal
from nncache.daemons.namespace_log import name_lines, naming
from nncache.daemons.namespace_stack import Security
from nncache.daemons.proxy_wiring import ProxySystem
from nncache.daemons.reloader import OF_PROXY, Reloader
from nncache.daemons.service_manager import ServiceManager
from nncache.errors import ConfigurationError
from nncache.hadoop.kerberos.identity import identity_of
from nncache.hadoop.namenode_web import NameNodeWeb
from nncache.invalidation.stream import load_stream_class
from nncache.logs import set_up_logs
from nncache.net.setting_error import SettingError
from nncache.proxy.limits import reserve_files
from nncache.request_logs.request_logs import RequestLogs
from nncache.settings.commands import SettingsOfProxy
from nncache.settings.federation import Federation
from nncache.spnego.clients_authentication import clients_authentication_of


def run_proxy(settings: Federation, load: Callable[[], Federation]) -> None:
    """Serve until SIGTERM or SIGINT, then finish in-flight requests. SIGHUP reopens the logs and reloads the settings.

    Raises:
        StartError: the proxy cannot start. The message says why, in one line.
    """
    by_name, of_proxy = settings.settings, settings.of_proxy
    set_up_logs(of_proxy.log)
    name_lines()
    try:
        reserve_files(of_proxy.limits, sum(len(each.namenodes.namenodes) for each in by_name.values()))
        for each in by_name.values():
            load_stream_class(each.channel_name)
        access = access_of(of_proxy.admin, of_proxy.proxy.admin_at.host)
        logs = RequestLogs(of_proxy.request_logs, boottime)
        security = {name: _security_of(each) for name, each in by_name.items()}
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
    manager = ServiceManager()

    async def serve(signals: Signals) -> None:
        system = ProxySystem(settings, boottime, access, manager, logs, security)
        reloaders = {
            name: Reloader(
                partial(loaded_again, load, settings, name),
                each,
                OF_PROXY,
                partial(system.take, name=name),
                manager,
                lambda outcome: logs.note("reload", outcome=outcome),
            )
            for name, each in by_name.items()
        }

        def reload() -> None:
            logs.reopen()
            for name, reloader in reloaders.items():
                with naming(name):
                    reloader.reload()

        signals.on_reload = reload
        await system.serve(signals.stop)

    run_until_signal(serve, "requests under way are finished, then it ends")


def _security_of(settings: SettingsOfProxy) -> Security:
    """Return the identity and the logins of a namespace's parts.

    Raises:
        SettingError: a keytab or a certificate cannot be used. The message says what to do.
    """
    identity = identity_of(settings.kerberos, boottime)
    web = NameNodeWeb(settings.namenode_tls)
    return Security(
        identity=identity,
        login=login_of(settings.zookeeper, identity),
        web=web,
        clients=clients_authentication_of(
            settings.termination,
            settings.hadoop_conf.hadoop_conf_dir,
            [each.http for each in settings.namenodes.namenodes],
            identity,
            web,
            boottime,
            token_believed_s=settings.cache.grant_ttl_s,
        ),
    )


def loaded_again(load: Callable[[], Federation], begun: Federation, name: str) -> SettingsOfProxy:
    """Reload the settings, and return those of a namespace; `begun` are the settings at start.

    Raises:
        ConfigurationError: a setting is invalid, or the namespaces or their mount points have changed.
    """
    wanted = load()
    if wanted.settings.keys() != begun.settings.keys() or wanted.mounts.points != begun.mounts.points:
        raise ConfigurationError("the namespaces, or what they hold, have changed: that needs a restart")
    return wanted.settings[name]
