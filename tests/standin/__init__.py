"""A server on loopback that speaks the formats of model and search providers, and of web pages, with faults on demand.

::

    from tests.standin.fixtures import hosted, standin      # the fixture, and the same with options of one's own

    def test_a_rate_limit_is_waited_for(standin: Standin) -> None:
        standin.fault("chat", "status:429+Retry-After=1", calls=[1, 2])
        ...                                                  # the program, pointed at standin.openrouter_url
        assert standin.log.charged().usd == total_of_events
        assert standin.log.of("canary") == ()

``python -m tests.standin`` runs it by hand. ``faults`` lists the verbs, ``options`` what can be chosen, ``log`` what is recorded.
"""
